"""What holds for every match, however it is played."""

from collections import Counter
from itertools import groupby
from typing import TypeVar

from hypothesis import given as for_all

from hub.rules.constants import BANKNOTES
from hub.rules.settlement import turn_order
from protocol.messages import (
    AnyEvent,
    DeadlineMoved,
    MatchFinished,
    Placed,
    Roll,
    RoundSettled,
    RoundStarted,
    TableTalk,
)
from tests.rules.matches import (
    Played,
    absent_match,
    any_match,
    opened,
    place_first,
    play,
    thorough,
)

E = TypeVar("E", bound=AnyEvent)


def of_type(played: Played, wanted: type[E]) -> list[E]:
    return [event for event in played.log if isinstance(event, wanted)]


@thorough
@for_all(any_match)
def test_each_seat_places_eight_dice_a_round(played: Played) -> None:
    placed: Counter[tuple[int, int]] = Counter()
    for event in played.placements():
        placed[event.round, event.seat] += event.count
    seats = len(played.end.players)
    assert placed == {(round, seat): 8 for round in range(1, 5) for seat in range(seats)}


@thorough
@for_all(any_match)
def test_money_paid_and_notes_discarded_are_the_notes_drawn(played: Played) -> None:
    drawn = [[casino.bills for casino in event.casinos] for event in of_type(played, RoundStarted)]
    settled = of_type(played, RoundSettled)
    assert [[casino.bills for casino in event.casinos] for event in settled] == drawn
    before = 0
    for notes, event in zip(drawn, settled, strict=True):
        discarded = sum(sum(casino.discarded) for casino in event.casinos)
        assert sum(event.money) - before + discarded == sum(map(sum, notes))
        before = sum(event.money)


@thorough
@for_all(any_match)
def test_a_round_s_notes_are_of_one_deck(played: Played) -> None:
    for event in of_type(played, RoundStarted):
        notes = Counter(note for casino in event.casinos for note in casino.bills)
        assert notes <= Counter(BANKNOTES)


@thorough
@for_all(any_match)
def test_settled_dice_are_those_that_were_placed(played: Played) -> None:
    placed: Counter[tuple[int, int, int]] = Counter()
    for event in played.placements():
        placed[event.round, event.face, event.seat] += event.count
    settled = {
        (event.round, casino.number, seat): dice
        for event in of_type(played, RoundSettled)
        for casino in event.casinos
        for seat, dice in enumerate(casino.dice)
    }
    assert {place: dice for place, dice in settled.items() if dice} == placed


@thorough
@for_all(any_match)
def test_hp_is_conserved_but_for_the_platform_fee(played: Played) -> None:
    finished = played.log[-1]
    assert isinstance(finished, MatchFinished)
    moved = finished.summary.hp_movement
    pot = played.end.entry_fee_hp * len(moved)
    assert sum(seat.movement for seat in moved) == -(pot * played.end.platform_fee_bps // 10_000)
    before = [player.balance_hp + played.end.entry_fee_hp for player in played.end.players]
    assert [seat.balance - seat.movement for seat in moved] == before


@thorough
@for_all(absent_match)
def test_match_that_nobody_played_gives_every_stake_back(played: Played) -> None:
    finished = played.log[-1]
    assert isinstance(finished, MatchFinished)
    assert (finished.finish_reason, finished.winner_seat) == ("no_actions", None)
    assert {seat.movement for seat in finished.summary.hp_movement} == {0}


@thorough
@for_all(any_match)
def test_winner_has_most_money_then_most_notes_then_the_lowest_seat(played: Played) -> None:
    finished = played.log[-1]
    assert isinstance(finished, MatchFinished)
    scores = [(-seat.money, -seat.bills_won, seat.seat) for seat in finished.summary.players]
    assert list(finished.standings) == [seat for *_, seat in sorted(scores)]
    acted = any(not event.is_auto for event in played.placements())
    assert finished.winner_seat == (finished.standings[0] if acted else None)


@thorough
@for_all(any_match)
def test_seats_act_in_turn_skipping_those_without_dice(played: Played) -> None:
    left: list[int] = []
    last: int | None = None
    for event in played.log:
        if isinstance(event, RoundStarted):
            left, last = [8] * len(played.end.players), None
            assert event.turn_order == turn_order(len(left), event.round)
        elif isinstance(event, Roll):
            start = (event.round - 1) if last is None else last + 1
            around = [(start + step) % len(left) for step in range(len(left))]
            assert event.seat == next(seat for seat in around if left[seat])
            assert len(event.dice) == left[event.seat]
            last = event.seat
        elif isinstance(event, Placed):
            left[event.seat] -= event.count
            assert event.dice_remaining == left[event.seat]


@thorough
@for_all(any_match)
def test_turn_is_short_for_a_seat_that_missed_two_in_a_row(played: Played) -> None:
    missed = [0] * len(played.end.players)
    for event in played.log:
        if isinstance(event, Placed):
            missed[event.seat] = missed[event.seat] + 1 if event.is_auto else 0
            assert event.away == (missed[event.seat] >= 2)
        elif isinstance(event, Roll):
            assert event.turn_ms == (5_000 if missed[event.seat] >= 2 else 90_000)
            assert event.deadline == event.ts + event.turn_ms


@thorough
@for_all(any_match)
def test_events_of_a_placement_leave_in_the_order_of_the_protocol(played: Played) -> None:
    moves = [
        [type(event) for event in step]
        for _, step in groupby(played.log[3:], key=lambda event: step_of(played, event))
    ]
    follows: list[list[type[AnyEvent]]] = [
        [Roll],
        [RoundSettled, RoundStarted, Roll],
        [RoundSettled, MatchFinished],
    ]
    allowed: list[list[type[AnyEvent]]] = [[DeadlineMoved], *([Placed, *rest] for rest in follows)]
    allowed += [[TableTalk, Placed, *rest] for rest in follows]
    assert [move for move in moves if move not in allowed] == []


def step_of(played: Played, event: AnyEvent) -> int:
    """Find which step made an event."""
    return next(number for number, match in enumerate(played.states) if match.seq >= event.seq)


@thorough
@for_all(any_match)
def test_events_are_numbered_from_one_without_a_gap(played: Played) -> None:
    assert [event.seq for event in played.log] == list(range(1, len(played.log) + 1))
    assert {event.match_id for event in played.log} == {played.end.match_id}


def test_dice_of_a_later_turn_join_those_of_an_earlier_one() -> None:
    played = play(3, absence=0.0)
    first = [event for event in played.placements() if event.round == 1]
    twice = Counter((event.seat, event.face) for event in first).most_common(1)[0][0]
    counts = [event.count for event in first if (event.seat, event.face) == twice]
    settled = next(event for event in played.log if isinstance(event, RoundSettled))
    assert len(counts) > 1
    assert settled.casinos[twice[1] - 1].dice[twice[0]] == sum(counts)


def test_same_seed_and_same_choices_give_the_same_match() -> None:
    assert play(5) == play(5)


def test_nonce_changes_the_dice_of_the_next_turn() -> None:
    match, _ = opened()
    plain, _ = place_first(match)
    salted, _ = place_first(match, nonce="salt")
    assert plain.casinos == salted.casinos
    assert plain.roll != salted.roll
