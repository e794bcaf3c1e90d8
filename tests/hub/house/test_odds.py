from collections.abc import Iterator
from itertools import product
from math import comb, prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.house.odds import Stake, expected_payouts
from hub.rules.settlement import settle_casino
from tests.rules.matches import thorough

stakes = st.lists(st.builds(Stake, st.integers(0, 4), st.integers(0, 3)), min_size=3, max_size=4)
notes = st.lists(st.sampled_from([10_000, 50_000, 90_000]), min_size=1, max_size=4)


def endings(stakes: list[Stake]) -> Iterator[tuple[tuple[int, ...], float]]:
    """List every way in which the dice still out may fall, and how likely it is."""
    for come in product(*(range(stake.out + 1) for stake in stakes)):
        chances = (
            comb(stake.out, here) * 5 ** (stake.out - here) / 6**stake.out
            for stake, here in zip(stakes, come, strict=True)
        )
        dice = tuple(stake.placed + here for stake, here in zip(stakes, come, strict=True))
        yield dice, prod(chances)


@given(notes, stakes)
@thorough
def test_the_mean_over_all_endings(notes: list[int], stakes: list[Stake]) -> None:
    bills = sorted(notes, reverse=True)
    mean = [0.0] * len(stakes)
    for dice, chance in endings(stakes):
        for award in settle_casino(1, bills, dice).awards:
            mean[award.seat] += chance * award.bill
    assert expected_payouts(tuple(bills), tuple(stakes)) == pytest.approx(mean)


@pytest.mark.parametrize(
    ("dice", "payouts"),
    [
        ((0, 0, 0, 0), (0, 0, 0, 0)),
        ((5, 5, 3, 3), (0, 0, 0, 0)),
        ((5, 5, 3, 0), (0, 0, 60_000, 0)),
        ((8, 0, 0, 0), (60_000, 0, 0, 0)),
        ((1, 4, 2, 3), (0, 60_000, 0, 30_000)),
    ],
)
def test_without_dice_out_it_is_the_settlement(
    dice: tuple[int, ...], payouts: tuple[float, ...]
) -> None:
    placed = tuple(Stake(count, 0) for count in dice)
    assert expected_payouts((60_000, 30_000), placed) == payouts


def test_seats_alike_may_expect_the_same() -> None:
    payouts = expected_payouts((80_000, 20_000), (Stake(1, 5),) * 4)
    assert payouts == pytest.approx([payouts[0]] * 4)
