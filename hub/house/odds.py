"""Work out what each seat may expect from a casino while dice are still to come."""

from collections import defaultdict
from functools import cache, lru_cache
from math import comb

import msgspec

from hub.rules.constants import CASINOS

CACHED_CASINOS = 20_000  # a few MB; bots at one table ask the same again and again

Chances = tuple[float, ...]  # of having 0, 1, 2, ... dice at a casino in the end

# What may have happened among higher counts: which seats have fewer, as bits, and how many notes
# are paid; and how likely that is.
Branches = dict[tuple[int, int], float]


class Stake(msgspec.Struct, frozen=True):
    """A seat's dice at one casino, and its dice that are not placed anywhere yet."""

    placed: int
    out: int


@lru_cache(CACHED_CASINOS)
def expected_payouts(bills: tuple[int, ...], stakes: tuple[Stake, ...]) -> tuple[float, ...]:
    """Return the mean payout in dollars, by seat, when each die still out comes here by chance.

    `bills` is descending; a die comes here with a chance of one in six, whatever others do. Exact:
    from the most dice down it follows which seats have that many, and who is paid for it
    (RULES.md, A match, 7).
    """
    chances = [_final_dice(stake) for stake in stakes]
    payouts = [0.0] * len(stakes)
    branches: Branches = {((1 << len(stakes)) - 1, 0): 1.0}
    for count in range(max(map(len, chances)) - 1, 0, -1):
        hits = [_hit(each, count) for each in chances]
        branches = _descend(branches, hits, bills, payouts)
    return tuple(payouts)


def _descend(
    branches: Branches, hits: list[float], bills: tuple[int, ...], payouts: list[float]
) -> Branches:
    """Look at one count, which each seat that has no more has with the chance in `hits`."""
    have = _products(hits)
    lack = _products([1 - hit for hit in hits])
    lower: Branches = defaultdict(float)
    for (seats, paid), chance in branches.items():
        for group in _subsets(seats):
            likely = chance * have[group] * lack[seats ^ group]
            if not likely:
                continue
            due = paid
            if group.bit_count() == 1:
                payouts[group.bit_length() - 1] += likely * bills[paid]
                due += 1
            if due < len(bills):
                lower[seats ^ group, due] += likely
    return lower


def _products(factors: list[float]) -> list[float]:
    """Multiply the factors of each set of seats; the sets are bits."""
    products = [1.0]
    for factor in factors:
        products += [product * factor for product in products]
    return products


@cache
def _subsets(seats: int) -> tuple[int, ...]:
    return tuple(group for group in range(seats + 1) if group & seats == group)


@cache
def _final_dice(stake: Stake) -> Chances:
    here, elsewhere = 1 / CASINOS, 1 - 1 / CASINOS
    return (0.0,) * stake.placed + tuple(
        comb(stake.out, come) * here**come * elsewhere ** (stake.out - come)
        for come in range(stake.out + 1)
    )


@cache
def _hit(chances: Chances, count: int) -> float:
    """Return the chance to have `count` dice if it is not more."""
    at_most = sum(chances[: count + 1])
    return chances[count] / at_most if count < len(chances) and at_most else 0.0
