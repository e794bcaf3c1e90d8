"""Choose a face: the ways in which the house's bots play. Pure functions of a table.

A policy takes the table in a turn of `table.current_seat` and returns one of the faces rolled.
"""

import random
from collections.abc import Callable
from typing import Literal

from msgspec.structs import replace

from hub.rules.settlement import settle_casino
from protocol.messages import CasinoState, TableState

from .odds import Stake, expected_payouts

Policy = Callable[[TableState], int]
PolicyName = Literal["random", "greedy", "tie-aware"]

# What the choice that a die in hand gives is worth, in dollars. From scripts/winrate: around this
# value the tie-aware policy wins most, against random and greedy ones.
KEPT_DIE = 8_000


def make_policy(name: PolicyName, chance: random.Random) -> Policy:
    """Return a policy by its name; `chance` is what the random one draws from."""
    policies: dict[PolicyName, Policy] = {
        "random": lambda table: play_randomly(table, chance),
        "greedy": play_greedily,
        "tie-aware": play_tie_aware,
    }
    return policies[name]


def play_randomly(table: TableState, chance: random.Random) -> int:
    """Place any face of the roll, each as likely as the other."""
    return chance.choice(_faces(table))


def play_greedily(table: TableState) -> int:
    """Place the face that would pay most if the round ended right after; then, with fewest dice."""
    return max(_faces(table), key=lambda face: (_payout_now(table, face), -table.roll.count(face)))


def play_tie_aware(table: TableState) -> int:
    """Place the face that is best for the seat's lead when the round ends.

    The lead is what the seat may expect to be paid this round less what the others may, on
    average: all ties among dice placed and still to come are weighed, for and against. To that
    comes KEPT_DIE for each die kept.
    """
    return max(_faces(table), key=lambda face: _expected_lead(table, face))


def _faces(table: TableState) -> list[int]:
    return [action.params.face for action in table.legal_actions]


def _payout_now(table: TableState, face: int) -> int:
    return sum(
        award.bill
        for casino in _after(table, face)
        for award in settle_casino(casino.number, casino.bills, casino.dice).awards
        if award.seat == _me(table)
    )


def _expected_lead(table: TableState, face: int) -> float:
    placing = table.roll.count(face)
    out = [player.dice_remaining for player in table.players]
    out[_me(table)] -= placing
    kept = KEPT_DIE * out[_me(table)]
    return kept + sum(_lead_at(casino, out, _me(table)) for casino in _after(table, face))


def _lead_at(casino: CasinoState, out: list[int], me: int) -> float:
    stakes = tuple(Stake(placed, left) for placed, left in zip(casino.dice, out, strict=True))
    payouts = expected_payouts(casino.bills, stakes)
    others = sum(payouts) - payouts[me]
    return payouts[me] - others / (len(payouts) - 1)


def _after(table: TableState, face: int) -> tuple[CasinoState, ...]:
    """Show the casinos as they are once the face is placed."""
    return tuple(
        _with_dice(casino, _me(table), table.roll.count(face)) if casino.number == face else casino
        for casino in table.casinos
    )


def _with_dice(casino: CasinoState, seat: int, count: int) -> CasinoState:
    dice = list(casino.dice)
    dice[seat] += count
    return replace(casino, dice=tuple(dice))


def _me(table: TableState) -> int:
    if table.current_seat is None:
        raise ValueError("it is nobody's turn")
    return table.current_seat
