from typing import Any

from hypothesis import given as for_all

from hub.rules.settlement import settle_casino, settle_rounds
from hub.rules.summary import hp_movement, notable_ties, platform_fee
from hub.rules.table import Player
from protocol.messages import (
    AgentId,
    HpMovement,
    MatchFinished,
    MatchSummary,
    NotableTie,
    PlayerSummary,
    Roll,
    RoundResult,
    RoundSettled,
    ThinkTime,
)
from tests.rules.matches import STARTED_AT, Played, any_match, play, thorough
from tests.rules.vectors import each_case


def player(number: int = 0, balance_hp: int = 100) -> Player:
    return Player(agent_id=AgentId(f"a{number}"), name="", client_seed="", balance_hp=balance_hp)


def settled(round: int, *casinos: tuple[list[int], list[int]]) -> RoundResult:
    return RoundResult(
        round=round,
        casinos=tuple(
            settle_casino(number, bills, dice) for number, (bills, dice) in enumerate(casinos, 1)
        ),
        money=(),
        bills_won=(),
    )


@each_case("hp_movement")
def test_hp_moves_as_in_the_vectors(given: dict[str, Any], expected: Any) -> None:
    moved = hp_movement(
        [player(seat) for seat in range(given["seats"])],
        given["entry_fee"],
        given["platform_fee_bps"],
        given["winner_seat"],
    )
    assert tuple(movement.movement for movement in moved) == expected


def test_winner_takes_the_pot_less_the_platform_fee() -> None:
    assert hp_movement([player(0, 7), player(1, 8), player(2, 9)], 10, 500, 1) == (
        HpMovement(seat=0, agent_id=AgentId("a0"), staked=10, payout=0, movement=-10, balance=7),
        HpMovement(seat=1, agent_id=AgentId("a1"), staked=10, payout=29, movement=19, balance=37),
        HpMovement(seat=2, agent_id=AgentId("a2"), staked=10, payout=0, movement=-10, balance=9),
    )


def test_without_a_winner_every_stake_goes_back() -> None:
    assert hp_movement([player(0, 7), player(1, 8)], 10, 500, None) == (
        HpMovement(seat=0, agent_id=AgentId("a0"), staked=10, payout=10, movement=0, balance=17),
        HpMovement(seat=1, agent_id=AgentId("a1"), staked=10, payout=10, movement=0, balance=18),
    )


def test_platform_fee_is_rounded_down() -> None:
    assert [platform_fee(40, bps) for bps in (0, 249, 250, 9_999, 10_000)] == [0, 0, 1, 39, 40]


def test_tie_is_denied_the_note_after_those_of_seats_with_more_dice() -> None:
    """Seat 0 is paid first, the tie of 1 and 2 was in line for the second note."""
    result = settled(1, ([60_000, 40_000, 10_000], [5, 3, 3, 1]))
    assert notable_ties([result]) == (
        NotableTie(round=1, casino=1, seats=(1, 2), count=3, bill_denied=40_000),
    )


def test_cancelled_seats_with_more_dice_take_no_note_before_a_tie() -> None:
    result = settled(1, ([60_000, 40_000], [5, 5, 3, 3]))
    assert notable_ties([result]) == (
        NotableTie(round=1, casino=1, seats=(0, 1), count=5, bill_denied=60_000),
        NotableTie(round=1, casino=1, seats=(2, 3), count=3, bill_denied=60_000),
    )


def test_tie_that_no_note_was_left_for_is_not_notable() -> None:
    assert notable_ties([settled(1, ([60_000], [5, 3, 3, 0]))]) == ()


def test_ties_run_from_the_biggest_note_down_then_as_they_happened() -> None:
    first = settled(1, ([50_000], [1, 1, 0]), ([90_000], [2, 0, 2]))
    second = settled(2, ([90_000], [0, 3, 3]), ([50_000], [4, 4, 0]))
    found = [(tie.bill_denied, tie.round, tie.casino) for tie in notable_ties([first, second])]
    assert found == [(90_000, 1, 2), (90_000, 2, 1), (50_000, 1, 1), (50_000, 2, 2)]


def expected_player(played: Played, seat: int) -> PlayerSummary:
    """Count a seat's match from the log alone."""
    rolled_at = {event.turn: event.ts for event in played.log if isinstance(event, Roll)}
    placed = [event for event in played.placements() if event.seat == seat]
    thoughts = [event.ts - rolled_at[event.turn] for event in placed if not event.is_auto]
    totals = [event for event in played.log if isinstance(event, RoundSettled)][-1]
    return PlayerSummary(
        seat=seat,
        agent_id=played.end.players[seat].agent_id,
        name=played.end.players[seat].name,
        money=totals.money[seat],
        bills_won=totals.bills_won[seat],
        auto_placements=sum(event.is_auto for event in placed),
        placements=len(placed),
        think_ms=ThinkTime(total=sum(thoughts), max=max(thoughts, default=0)),
    )


@thorough
@for_all(any_match)
def test_summary_says_what_the_log_says(played: Played) -> None:
    finished = played.log[-1]
    assert isinstance(finished, MatchFinished)
    rounds = settle_rounds(played.end.settled, len(played.end.players))
    assert finished.summary == MatchSummary(
        match_id=played.end.match_id,
        started_at=STARTED_AT,
        finished_at=finished.ts,
        players=tuple(expected_player(played, seat) for seat in range(len(played.end.players))),
        rounds=rounds,
        notable_ties=notable_ties(rounds),
        winner_seat=finished.winner_seat,
        hp_movement=hp_movement(
            played.end.players,
            played.end.entry_fee_hp,
            played.end.platform_fee_bps,
            finished.winner_seat,
        ),
    )
    assert [
        RoundSettled(
            match_id=event.match_id,
            seq=event.seq,
            ts=event.ts,
            round=result.round,
            casinos=result.casinos,
            money=result.money,
            bills_won=result.bills_won,
        )
        for event, result in zip(
            (event for event in played.log if isinstance(event, RoundSettled)), rounds, strict=True
        )
    ] == [event for event in played.log if isinstance(event, RoundSettled)]


def test_think_time_leaves_automatic_placements_out() -> None:
    finished = play(absence=1.0).log[-1]
    assert isinstance(finished, MatchFinished)
    thinks = {summary.think_ms for summary in finished.summary.players}
    assert thinks == {ThinkTime(total=0, max=0)}
