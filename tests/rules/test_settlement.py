from typing import Any

import msgspec
from hypothesis import given as for_all
from hypothesis import strategies as st

from hub.rules.settlement import (
    settle_casino,
    settle_round,
    settle_rounds,
    standings,
    turn_order,
)
from hub.rules.table import Casino
from protocol.messages import Award, CasinoSettlement, RoundResult
from tests.rules.matches import thorough
from tests.rules.vectors import each_case

bills = st.lists(st.integers(1, 9).map(lambda tens: tens * 10_000), min_size=1, max_size=5).map(
    lambda notes: sorted(notes, reverse=True)
)
dice = st.lists(st.integers(0, 8), min_size=3, max_size=5)


@each_case("settle_casino")
def test_casino_is_settled_as_in_the_vectors(
    given: dict[str, Any], expected: dict[str, Any]
) -> None:
    settled = settle_casino(3, given["bills"], given["dice"])
    assert settled == msgspec.convert({"number": 3, **given, **expected}, CasinoSettlement)


@each_case("turn_order")
def test_turn_order_is_that_of_the_vectors(given: dict[str, Any], expected: Any) -> None:
    assert turn_order(given["seats"], given["round"]) == expected


@each_case("standings")
def test_standings_are_those_of_the_vectors(given: dict[str, Any], expected: Any) -> None:
    assert standings(given["money"], given["bills_won"]) == expected


@thorough
@for_all(bills=bills, dice=dice)
def test_every_note_is_paid_or_discarded(bills: list[int], dice: list[int]) -> None:
    settled = settle_casino(1, bills, dice)
    assert [award.bill for award in settled.awards] + list(settled.discarded) == bills


@thorough
@for_all(bills=bills, dice=dice)
def test_every_seat_with_dice_is_cancelled_or_in_line(bills: list[int], dice: list[int]) -> None:
    settled = settle_casino(1, bills, dice)
    cancelled = [seat for group in settled.cancelled for seat in group]
    in_line = [seat for seat, count in enumerate(dice) if count and dice.count(count) == 1]
    in_line.sort(key=lambda seat: -dice[seat])
    assert sorted(cancelled + in_line) == [seat for seat, count in enumerate(dice) if count]
    assert [award.seat for award in settled.awards] == in_line[: len(bills)]


def test_round_adds_to_what_was_won_before() -> None:
    casinos = [Casino((50_000,), (1, 0, 2)), Casino((60_000, 10_000), (3, 3, 1))]
    assert settle_round(2, casinos, (5, 6, 7), (1, 0, 2)) == RoundResult(
        round=2,
        casinos=(
            CasinoSettlement(
                number=1,
                bills=(50_000,),
                dice=(1, 0, 2),
                cancelled=(),
                awards=(Award(seat=2, bill=50_000),),
                discarded=(),
            ),
            CasinoSettlement(
                number=2,
                bills=(60_000, 10_000),
                dice=(3, 3, 1),
                cancelled=((0, 1),),
                awards=(Award(seat=2, bill=60_000),),
                discarded=(10_000,),
            ),
        ),
        money=(5, 6, 110_007),
        bills_won=(1, 0, 4),
    )


def test_rounds_are_settled_one_on_top_of_the_other() -> None:
    first, second = [Casino((50_000,), (1, 0, 2))], [Casino((60_000,), (0, 4, 0))]
    one = settle_round(1, first, (0, 0, 0), (0, 0, 0))
    assert settle_rounds([first, second], 3) == (
        one,
        settle_round(2, second, one.money, one.bills_won),
    )
