"""Tables made by hand, in which seat 0 is to place."""

from collections.abc import Sequence

from hub.rules.match import legal_actions
from protocol.messages import AgentId, CasinoState, PlayerState, TableState

Casino = tuple[tuple[int, ...], tuple[int, ...]]  # notes in thousands, and dice by seat

NOTHING: Casino = ((10,), (0, 0, 0, 0))


def table(
    roll: Sequence[int], casinos: dict[int, Casino], out: tuple[int, int, int] = (0, 0, 0)
) -> TableState:
    """Make a table; `out` is the dice that the other seats have left.

    Casinos that are not given hold one small note and no dice.
    """
    left = (len(roll), *out)
    return TableState(
        round=1,
        rounds=4,
        turn=5,
        turn_order=(0, 1, 2, 3),
        current_seat=0,
        roll=tuple(roll),
        deadline=90_000,
        casinos=tuple(_casino(number, *casinos.get(number, NOTHING)) for number in range(1, 7)),
        players=tuple(_player(seat, dice) for seat, dice in enumerate(left)),
        legal_actions=legal_actions(tuple(roll)),
        entry_fee_hp=10,
        pot_hp=40,
        commitment="",
        entropy="",
        recent_talk=(),
        status="playing",
        winner_seat=None,
    )


def _casino(number: int, notes: tuple[int, ...], dice: tuple[int, ...]) -> CasinoState:
    return CasinoState(number=number, bills=tuple(note * 1000 for note in notes), dice=dice)


def _player(seat: int, dice_remaining: int) -> PlayerState:
    return PlayerState(
        seat=seat,
        agent_id=AgentId(f"a{seat}"),
        name=f"Agent {seat}",
        dice_remaining=dice_remaining,
        money=0,
        bills_won=0,
        away=False,
        connected=True,
    )
