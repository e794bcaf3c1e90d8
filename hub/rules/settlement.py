"""Who acts when, who is paid what, who comes first.

Source: RULES.md, A match, 3, 7 and 8.
"""

from collections.abc import Sequence

from protocol.messages import Award, CasinoSettlement, RoundResult

from .table import Casino


def turn_order(seats: int, round: int) -> tuple[int, ...]:
    """Order `seats` seats for a round: each round starts one seat further on."""
    return tuple((round - 1 + place) % seats for place in range(seats))


def settle_casino(number: int, bills: Sequence[int], dice: Sequence[int]) -> CasinoSettlement:
    """Pay out one casino; `bills` is descending, `dice` goes by seat.

    Seats with an equal number of dice, other than none, cancel each other out; the rest take one
    note each, most dice first. Cancelled groups run from most dice to fewest, seats ascending.
    """
    groups = _equal_seats(dice)
    paid = [group[0] for group in groups if len(group) == 1]
    awards = tuple(Award(seat=seat, bill=bill) for seat, bill in zip(paid, bills, strict=False))
    return CasinoSettlement(
        number=number,
        bills=tuple(bills),
        dice=tuple(dice),
        cancelled=tuple(group for group in groups if len(group) > 1),
        awards=awards,
        discarded=tuple(bills[len(awards) :]),
    )


def settle_round(
    round: int, casinos: Sequence[Casino], money: Sequence[int], bills_won: Sequence[int]
) -> RoundResult:
    """Pay out a round's casinos, in order, on top of each seat's money and notes so far."""
    money, bills_won = list(money), list(bills_won)
    settled = tuple(
        settle_casino(number, casino.bills, casino.dice) for number, casino in enumerate(casinos, 1)
    )
    for award in (award for casino in settled for award in casino.awards):
        money[award.seat] += award.bill
        bills_won[award.seat] += 1
    return RoundResult(round=round, casinos=settled, money=tuple(money), bills_won=tuple(bills_won))


def settle_rounds(rounds: Sequence[Sequence[Casino]], seats: int) -> tuple[RoundResult, ...]:
    """Pay out all rounds so far, each one's totals on top of those before it."""
    results: list[RoundResult] = []
    money: Sequence[int] = (0,) * seats
    bills_won: Sequence[int] = money
    for round, casinos in enumerate(rounds, 1):
        results.append(settle_round(round, casinos, money, bills_won))
        money, bills_won = results[-1].money, results[-1].bills_won
    return tuple(results)


def standings(money: Sequence[int], bills_won: Sequence[int]) -> tuple[int, ...]:
    """Order the seats from first to last: most money, then most notes, then the lowest seat."""
    return tuple(sorted(range(len(money)), key=lambda seat: (-money[seat], -bills_won[seat], seat)))


def _equal_seats(dice: Sequence[int]) -> list[tuple[int, ...]]:
    """Group the seats that have dice by how many, most dice first."""
    groups: dict[int, list[int]] = {}
    for seat, count in enumerate(dice):
        if count:
            groups.setdefault(count, []).append(seat)
    return [tuple(groups[count]) for count in sorted(groups, reverse=True)]
