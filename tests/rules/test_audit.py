from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given as for_all
from msgspec.structs import replace

from hub.rules.audit import AuditFailure, audit
from hub.rules.fairness import commitment, seating
from hub.rules.match import standard_config
from protocol.messages import (
    AnyEvent,
    DeadlineMoved,
    Event,
    MatchFinished,
    MatchStarted,
    Placed,
    Roll,
    TableTalk,
)
from tests.rules.matches import (
    FEE_BPS,
    SHORT,
    Played,
    absent_match,
    any_match,
    play,
    renumbered,
    seed_of,
    thorough,
)


@thorough
@for_all(any_match | absent_match)
def test_played_match_passes(played: Played) -> None:
    assert len(audit(played.log)) == 13


def test_report_says_what_was_checked() -> None:
    played = play(4, 3, absence=0.4)
    placed = played.placements()
    autos = sum(event.is_auto for event in placed)
    moved = sum(isinstance(event, DeadlineMoved) for event in played.log)
    finished = played.log[-1]
    assert isinstance(finished, MatchFinished)
    winner = played.end.players[finished.standings[0]]
    assert audit(played.log) == [
        f"{len(played.log)} events of match m4: no number missing, times in order",
        f"the revealed seed is the one committed to: {played.end.commitment}",
        "3 seats drawn as the seed says",
        "the notes of 24 casinos dealt as the seed and the entropy say",
        f"{len(placed)} rolls as the seed and the entropy say, with their deadlines",
        f"{len(placed) - autos} placements by agents: legal, each before its deadline",
        f"{autos} automatic placements: the right face, none before its deadline",
        f"{moved} deadlines moved, none to earlier",
        f"entropy after each placement, at last {finished.entropy}",
        "24 casinos settled, and the totals of 4 rounds",
        f"seat {finished.standings[0]}, {winner.agent_id}, won with {winner.money:,} dollars",
        "30 HP staked, 30 paid out, 0 kept as the platform's fee",
        "played with the constants of RULES.md",
    ]


def test_report_says_that_nobody_acted() -> None:
    report = audit(play(absence=1.0, fee_bps=5_000).log)
    assert report[10:12] == [
        "no winner: no seat placed anything of its own",
        "40 HP staked, 40 paid out, 0 kept as the platform's fee",
    ]


def test_report_says_which_constant_is_unusual() -> None:
    assert audit(play(config=SHORT).log)[-1] == (
        "not played with the constants of RULES.md: config.rounds: expected 4, found 1"
    )


def failure(log: Sequence[AnyEvent]) -> str:
    with pytest.raises(AuditFailure) as caught:
        audit(log)
    assert str(caught.value) == f"event {caught.value.seq}: {caught.value.what}"
    return str(caught.value)


def changed(played: Played, seq: int, **fields: Any) -> list[AnyEvent]:
    log = list(played.log)
    log[seq - 1] = replace(log[seq - 1], **fields)
    return log


def first(played: Played, wanted: type[Event], nth: int = 0) -> Any:
    return [event for event in played.log if isinstance(event, wanted)][nth]


def own_placement(played: Played) -> Placed:
    return next(event for event in played.placements() if not event.is_auto)


def auto_placement(played: Played) -> Placed:
    return next(event for event in played.placements() if event.is_auto)


def test_empty_log_fails() -> None:
    assert failure([]) == "event 0: the log is empty"


def test_match_under_way_fails() -> None:
    assert failure(play().log[:-1]).endswith("the match has not finished: its seed is still secret")


def test_log_without_its_first_event_fails() -> None:
    log = play().log[1:]
    assert failure(log) == "event 2: event 1 was expected here"
    assert failure(renumbered(log)) == "event 1: expected match_started, found round_started"


def test_event_of_another_match_fails() -> None:
    log = changed(play(), 5, match_id="m1")
    assert failure(log) == "event 5: it is of another match, m1"


def test_time_that_runs_backwards_fails() -> None:
    log = changed(play(), 5, ts=1)
    assert failure(log).startswith("event 5: its time, 1, is before the last, ")


def test_seed_that_is_not_the_committed_one_fails() -> None:
    played = play()
    log = changed(played, len(played.log), server_seed=seed_of(1).hex())
    assert "committed the match to" in failure(log)


@pytest.mark.parametrize("seed", ["", "00", "zz", "é" * 64, "0" * 63])
def test_malformed_seed_fails(seed: str) -> None:
    played = play()
    failure(changed(played, len(played.log), server_seed=seed))


def test_short_seed_fails_even_if_committed_to() -> None:
    played, seed = play(), bytes(31)
    start = first(played, MatchStarted)
    seats = seating(seed, start.match_id, [player.agent_id for player in start.players])
    players = tuple(
        replace(player, agent_id=agent) for player, agent in zip(start.players, seats, strict=True)
    )
    log = changed(played, len(played.log), server_seed=seed.hex())
    log[0] = replace(start, commitment=commitment(seed), players=players)
    assert failure(log) == ("event 1: no match can be played on these terms: a seed has 32 bytes")


def test_seats_that_the_seed_did_not_draw_fail() -> None:
    played = play()
    players = first(played, MatchStarted).players
    log = changed(played, 1, players=players[::-1])
    assert failure(log).startswith("event 1: the seed seats ")


def test_agent_with_two_seats_fails() -> None:
    played = play()
    player = first(played, MatchStarted).players[0]
    assert failure(changed(played, 1, players=(player,) * 3)).endswith("an agent has one seat")


def test_wrong_die_fails() -> None:
    played = play()
    roll = first(played, Roll, 4)
    dice = (roll.dice[0] % 6 + 1, *roll.dice[1:])
    assert failure(changed(played, roll.seq, dice=dice)) == (
        f"event {roll.seq}: roll.dice[0]: expected {roll.dice[0]}, found {dice[0]}"
    )


def test_missing_die_fails() -> None:
    played = play()
    roll = first(played, Roll, 4)
    assert failure(changed(played, roll.seq, dice=roll.dice[1:])) == (
        f"event {roll.seq}: roll.dice: expected {roll.dice}, found {roll.dice[1:]}"
    )


def test_illegal_placement_fails() -> None:
    played = play()
    placed = own_placement(played)
    assert failure(changed(played, placed.seq, face=9)).startswith(
        f"event {placed.seq}: illegal_face: "
    )


def test_placement_out_of_turn_fails() -> None:
    played = play()
    placed = own_placement(played)
    assert "not_your_turn" in failure(changed(played, placed.seq, seat=placed.seat + 1))
    assert "stale_turn" in failure(changed(played, placed.seq, turn=placed.turn + 1))


def moved_in_time(played: Played, seq: int, ts: int) -> list[AnyEvent]:
    """Move an event, and those of its commit, to another time; later ones too if need be."""
    then = played.log[seq - 1].ts
    return [
        replace(event, ts=ts if event.ts == then else max(event.ts, ts))
        if event.seq >= seq
        else event
        for event in played.log
    ]


def test_placement_at_the_deadline_fails() -> None:
    played = play(absence=0.0, outages=0.0)
    placed, roll = played.placements()[0], first(played, Roll)
    log = moved_in_time(played, placed.seq - 1, roll.deadline)
    assert failure(log).endswith(f"placed at {roll.deadline}, not before deadline {roll.deadline}")


def test_automatic_placement_before_the_deadline_fails() -> None:
    played = play(absence=1.0, outages=0.0)
    placed, roll = played.placements()[0], first(played, Roll)
    early = roll.deadline - 1
    assert failure(moved_in_time(played, placed.seq, early)) == (
        f"event {placed.seq}: placed automatically at {early}, before deadline {roll.deadline}"
    )


def test_automatic_placement_of_another_face_fails() -> None:
    played = play()
    placed = next(event for event in played.placements() if event.is_auto)
    log = changed(played, placed.seq, face=placed.face % 6 + 1)
    assert failure(log).startswith(
        f"event {placed.seq}: placed.face: expected {placed.face}, found "
    )


def test_deadline_moved_to_no_later_fails() -> None:
    played = play(outages=0.5)
    moved = first(played, DeadlineMoved)
    before = next(match for match in reversed(played.states) if match.seq < moved.seq).deadline
    assert failure(changed(played, moved.seq, deadline=before)) == (
        f"event {moved.seq}: deadline {before} moved to {before}, not later"
    )


def test_deadline_moved_for_an_unknown_reason_fails() -> None:
    played = play(outages=0.5)
    moved = first(played, DeadlineMoved)
    assert failure(changed(played, moved.seq, reason="a favour")) == (
        f"event {moved.seq}: reason: expected outage, found a favour"
    )


def test_talk_without_a_placement_fails() -> None:
    played = play()
    talk = first(played, TableTalk)
    log = renumbered([event for event in played.log if event.seq != talk.seq + 1])
    assert failure(log).startswith(f"event {talk.seq + 1}: expected placed, found ")


def test_end_before_the_last_round_fails() -> None:
    played = play()
    log = renumbered([*played.log[:3], played.log[-1]])
    assert failure(log) == "event 4: expected placed, found match_finished"


@pytest.mark.parametrize("nonce", ["a|b", "a\n", "\x7f", "x" * 65])
def test_nonce_that_no_agent_may_send_fails(nonce: str) -> None:
    played = play()
    placed = own_placement(played)
    assert failure(changed(played, placed.seq, nonce=nonce)).startswith(
        f"event {placed.seq}: nonce {nonce!r}: Expected `str` "
    )


def test_client_seed_that_no_agent_may_send_fails() -> None:
    played = play()
    players = first(played, MatchStarted).players
    bad = (replace(players[0], client_seed="a|b"), *players[1:])
    assert failure(changed(played, 1, players=bad)).startswith("event 1: client_seed 'a|b': ")


def test_talk_that_is_too_long_fails() -> None:
    played = play()
    talk = first(played, TableTalk)
    assert " message 'xxx" in failure(changed(played, talk.seq, message="x" * 141))


def test_match_that_goes_on_after_its_end_fails() -> None:
    played = play()
    log = [*played.log, played.log[-1]]
    assert failure(renumbered(log)) == f"event {len(log)}: the match goes on after its end"


def test_winner_that_is_not_the_first_fails() -> None:
    played = play()
    finished = played.log[-1]
    assert isinstance(finished, MatchFinished)
    assert failure(changed(played, finished.seq, winner_seat=None)) == (
        f"event {finished.seq}: match_finished.winner_seat: "
        f"expected {finished.winner_seat}, found None"
    )


def with_movement(played: Played, **fields: int) -> list[AnyEvent]:
    """Change what the log says of seat 0's HP."""
    finished = played.log[-1]
    assert isinstance(finished, MatchFinished)
    first_seat, *others = finished.summary.hp_movement
    moved = (replace(first_seat, **fields), *others)
    summary = replace(finished.summary, hp_movement=moved)
    return changed(played, finished.seq, summary=summary)


def test_payout_that_is_not_the_prize_fails() -> None:
    played = play()
    assert failure(with_movement(played, payout=1)).startswith(
        f"event {len(played.log)}: match_finished.summary.hp_movement[0].payout: expected 0, "
    )


def test_stake_that_an_agent_could_not_pay_fails() -> None:
    assert failure(with_movement(play(), balance=-1)).endswith("an agent can pay its stake")


def test_platform_fee_other_than_agreed_fails() -> None:
    played = play(fee_hp=1_000)
    log = changed(played, 1, platform_fee_bps=FEE_BPS + 100)
    assert "summary.hp_movement" in failure(log)


def test_other_length_of_an_away_seat_s_turn_fails() -> None:
    played = play(absence=1.0)
    log = changed(played, 1, config=standard_config(away_ms=4_999))
    assert "roll.deadline: expected " in failure(log)


@pytest.mark.parametrize("fill_min", [40_000, 60_000, 10**9])
def test_other_minimum_of_the_casinos_fails(fill_min: int) -> None:
    failure(changed(play(), 1, config=replace(standard_config(), fill_min=fill_min)))
