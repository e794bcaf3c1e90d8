"""Keep a table's state up to date from its messages.

Pure: after the last event of a commit the state is what a snapshot at that event says, except
`connected`, which follows the best-effort presence messages.
"""

import hashlib
from collections.abc import Callable

from msgspec.structs import replace

from protocol.messages import (
    AnyEvent,
    CasinoState,
    Crowd,
    DeadlineMoved,
    MatchFinished,
    MatchStarted,
    Placed,
    PlayerState,
    Presence,
    Roll,
    RoundSettled,
    RoundStarted,
    Snapshot,
    TableState,
    TableTalk,
    TalkLine,
)

TableMessage = AnyEvent | Snapshot | Presence
WatchMessage = TableMessage | Crowd  # what `watch` yields; a bot is not bothered with crowds

TALK_KEPT = 20  # lines in `recent_talk` (PROTOCOL.md, Hub to client)


def apply(state: TableState | None, message: WatchMessage) -> TableState:
    """Return the table as it is after a message; None stands for a table not seen yet.

    Raises ValueError if the table is not seen yet and the message is neither a snapshot nor
    `match_started`.
    """
    if isinstance(message, Snapshot):
        return message.state
    if isinstance(message, MatchStarted):
        return _start(message)
    if state is None:
        raise ValueError(f"{type(message).__name__} before a snapshot or match_started")
    match message:
        case RoundStarted():
            after = _start_round(state, message)
        case Roll():
            after = _roll(state, message)
        case DeadlineMoved():
            after = replace(state, deadline=message.deadline)
        case Placed():
            after = _place(state, message)
        case TableTalk():
            after = _talk(state, message)
        case RoundSettled():
            after = _settle(state, message)
        case MatchFinished():
            after = _finish(state, message)
        case Crowd():
            after = state  # it watches, and is no part of the table
        case _:
            after = _connect(state, message)
    return after


def _start(event: MatchStarted) -> TableState:
    # RULES.md, Randomness: the entropy that the first roll is made with.
    seeds = "|".join((event.match_id, *(entrant.client_seed for entrant in event.players)))
    return TableState(
        round=0,
        rounds=event.config.rounds,
        turn=0,
        turn_order=(),
        current_seat=None,
        roll=(),
        deadline=None,
        casinos=(),
        players=tuple(
            PlayerState(
                seat=entrant.seat,
                agent_id=entrant.agent_id,
                name=entrant.name,
                dice_remaining=event.config.dice,
                money=0,
                bills_won=0,
                away=False,
                connected=True,  # nobody else is seated
            )
            for entrant in event.players
        ),
        legal_actions=(),
        entry_fee_hp=event.entry_fee_hp,
        pot_hp=event.pot_hp,
        commitment=event.commitment,
        entropy=hashlib.sha256(seeds.encode()).hexdigest(),
        recent_talk=(),
        status="playing",
        winner_seat=None,
    )


def _start_round(state: TableState, event: RoundStarted) -> TableState:
    nobody = (0,) * len(state.players)
    return replace(
        state,
        round=event.round,
        turn_order=event.turn_order,
        casinos=tuple(
            CasinoState(number=casino.number, bills=casino.bills, dice=nobody)
            for casino in event.casinos
        ),
        players=tuple(_take_back(player, state.casinos) for player in state.players),
    )


def _take_back(player: PlayerState, casinos: tuple[CasinoState, ...]) -> PlayerState:
    committed = sum(casino.dice[player.seat] for casino in casinos)
    return replace(player, dice_remaining=player.dice_remaining + committed)


def _roll(state: TableState, event: Roll) -> TableState:
    return replace(
        state,
        turn=event.turn,
        current_seat=event.seat,
        roll=event.dice,
        deadline=event.deadline,
        legal_actions=event.legal_actions,
    )


def _place(state: TableState, event: Placed) -> TableState:
    state = _change_player(
        _end_turn(state),
        event.seat,
        lambda player: replace(player, dice_remaining=event.dice_remaining, away=event.away),
    )
    casinos = tuple(
        _commit_dice(casino, event) if casino.number == event.face else casino
        for casino in state.casinos
    )
    return replace(state, casinos=casinos, entropy=event.entropy)


def _commit_dice(casino: CasinoState, event: Placed) -> CasinoState:
    dice = list(casino.dice)
    dice[event.seat] += event.count
    return replace(casino, dice=tuple(dice))


def _end_turn(state: TableState) -> TableState:
    return replace(state, current_seat=None, roll=(), deadline=None, legal_actions=())


def _talk(state: TableState, event: TableTalk) -> TableState:
    line = TalkLine(round=event.round, turn=event.turn, seat=event.seat, message=event.message)
    return replace(state, recent_talk=(*state.recent_talk, line)[-TALK_KEPT:])


def _settle(state: TableState, event: RoundSettled) -> TableState:
    players = tuple(
        replace(player, money=event.money[player.seat], bills_won=event.bills_won[player.seat])
        for player in state.players
    )
    return replace(state, players=players)


def _finish(state: TableState, event: MatchFinished) -> TableState:
    return replace(state, status="finished", winner_seat=event.winner_seat, entropy=event.entropy)


def _connect(state: TableState, message: Presence) -> TableState:
    return _change_player(
        state, message.seat, lambda player: replace(player, connected=message.connected)
    )


def _change_player(
    state: TableState, seat: int, change: Callable[[PlayerState], PlayerState]
) -> TableState:
    players = list(state.players)
    players[seat] = change(players[seat])
    return replace(state, players=tuple(players))
