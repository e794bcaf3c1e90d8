from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import msgspec
import pytest
from hypothesis import given as for_all
from msgspec.structs import replace

from hub.rules import fairness
from hub.rules.constants import OUTAGE
from hub.rules.match import (
    Config,
    Contender,
    IllegalMove,
    Match,
    Moment,
    Step,
    auto_face,
    legal_actions,
    move_deadline,
    place,
    standard_config,
    start,
    time_out,
)
from protocol.messages import (
    AgentId,
    CasinoNotes,
    DeadlineMoved,
    Entrant,
    ErrorCode,
    MatchId,
    MatchStarted,
    Placed,
    Roll,
    RoundStarted,
    TableTalk,
)
from tests.rules.matches import (
    SHORT,
    STARTED_AT,
    Played,
    any_match,
    contenders,
    miss,
    opened,
    place_first,
    play,
    seed_of,
    thorough,
)
from tests.rules.vectors import each_case


def begin(**changed: Any) -> Step:
    """Start a match on good terms, but for those that are given."""
    terms: dict[str, Any] = {
        "match_id": MatchId("m0"),
        "contenders": contenders(),
        "config": standard_config(),
        "entry_fee_hp": 10,
        "platform_fee_bps": 250,
        "server_seed": seed_of(0),
        "moment": Moment(STARTED_AT),
    }
    return start(**(terms | changed))


def config(**changed: int) -> Config:
    return replace(standard_config(), **changed)


def test_start_opens_the_match_and_rolls_for_seat_0() -> None:
    seats = fairness.seating(seed_of(0), MatchId("m0"), [c.agent_id for c in contenders()])
    entropy = fairness.opening_entropy(MatchId("m0"), [f"salt{agent[1:]}" for agent in seats])
    notes = fairness.deal(seed_of(0), entropy, 1, 6, 50_000)
    dice = fairness.roll(seed_of(0), entropy, 1, 8)
    match, events = opened(0)
    assert events == (
        MatchStarted(
            match_id=MatchId("m0"),
            seq=1,
            ts=STARTED_AT,
            players=tuple(
                Entrant(
                    seat=seat,
                    agent_id=agent,
                    name=f"Agent {agent[1:]}",
                    client_seed=f"salt{agent[1:]}",
                )
                for seat, agent in enumerate(seats)
            ),
            config=standard_config(),
            entry_fee_hp=10,
            pot_hp=40,
            platform_fee_bps=250,
            commitment=fairness.commitment(seed_of(0)),
        ),
        RoundStarted(
            match_id=MatchId("m0"),
            seq=2,
            ts=STARTED_AT,
            round=1,
            casinos=tuple(
                CasinoNotes(number=number, bills=bills) for number, bills in enumerate(notes, 1)
            ),
            turn_order=(0, 1, 2, 3),
        ),
        Roll(
            match_id=MatchId("m0"),
            seq=3,
            ts=STARTED_AT,
            round=1,
            turn=1,
            seat=0,
            dice=dice,
            deadline=STARTED_AT + 90_000,
            turn_ms=90_000,
            legal_actions=legal_actions(dice),
        ),
    )
    assert (match.seq, match.status, match.entropy) == (3, "playing", entropy)


def test_start_does_not_depend_on_the_order_of_the_contenders() -> None:
    assert begin(contenders=contenders()[::-1]) == begin()


@pytest.mark.parametrize(
    ("changed", "term"),
    [
        ({"contenders": contenders(2)}, "3 to 5 seats"),
        ({"contenders": contenders(6)}, "3 to 5 seats"),
        ({"contenders": (*contenders(3), contenders(3)[0])}, "one seat"),
        ({"contenders": (*contenders(3), Contender(AgentId("x"), "", "", -1))}, "pay its stake"),
        ({"config": config(rounds=0)}, "has a round"),
        ({"config": config(dice=0)}, "1 to 8 dice"),
        ({"config": config(dice=9)}, "1 to 8 dice"),
        ({"config": config(casinos=5)}, "6 casinos"),
        ({"config": config(casinos=7)}, "6 casinos"),
        ({"config": config(fill_min=0)}, "the deck fills them"),
        ({"config": config(fill_min=326_667)}, "the deck fills them"),
        ({"config": config(turn_ms=0)}, "a length"),
        ({"config": config(away_ms=0)}, "a length"),
        ({"entry_fee_hp": -1}, "not negative"),
        ({"platform_fee_bps": -1}, "basis points"),
        ({"platform_fee_bps": 10_001}, "basis points"),
        ({"server_seed": bytes(31)}, "32 bytes"),
        ({"server_seed": bytes(33)}, "32 bytes"),
    ],
)
def test_start_refuses_terms_that_no_match_can_be_played_on(
    changed: dict[str, Any], term: str
) -> None:
    with pytest.raises(ValueError, match=term):
        begin(**changed)


def test_start_takes_the_smallest_terms() -> None:
    least = config(rounds=1, dice=1, fill_min=1, turn_ms=1, away_ms=1)
    match, _ = begin(
        contenders=[replace(contender, balance_hp=0) for contender in contenders(3)],
        config=least,
        entry_fee_hp=0,
        platform_fee_bps=0,
    )
    assert [len(casino.bills) for casino in match.casinos] == [1] * 6
    assert (len(match.roll), match.deadline) == (1, STARTED_AT + 1)


def test_deck_fills_the_casinos_at_the_highest_minimum() -> None:
    for number in range(200):
        match, _ = opened(number, config=config(fill_min=326_666))
        assert all(sum(casino.bills) >= 326_666 for casino in match.casinos)


def test_place_commits_every_die_of_the_face() -> None:
    before, _ = opened()
    face = before.roll[0]
    after, events = place_first(before, nonce="salt-7", after_ms=1_234)
    count = before.roll.count(face)
    entropy = fairness.next_entropy(before.entropy, 1, 0, face, "salt-7")
    dice = fairness.roll(seed_of(0), entropy, 2, 8)
    assert events == (
        Placed(
            match_id=before.match_id,
            seq=4,
            ts=STARTED_AT + 1_234,
            round=1,
            turn=1,
            seat=0,
            face=face,
            count=count,
            nonce="salt-7",
            is_auto=False,
            dice_remaining=8 - count,
            entropy=entropy.hex(),
        ),
        Roll(
            match_id=before.match_id,
            seq=5,
            ts=STARTED_AT + 1_234,
            round=1,
            turn=2,
            seat=1,
            dice=dice,
            deadline=STARTED_AT + 91_234,
            turn_ms=90_000,
            legal_actions=legal_actions(dice),
        ),
    )
    player = after.players[0]
    assert (player.think_total_ms, player.think_max_ms, player.placements) == (1_234, 1_234, 1)
    assert after.casinos[face - 1].dice == (count, 0, 0, 0)


def test_talk_comes_before_its_placement() -> None:
    match, _ = opened()
    _, events = place_first(match, message="all on six")
    assert events[0] == TableTalk(
        match_id=match.match_id,
        seq=4,
        ts=STARTED_AT + 1_000,
        round=1,
        turn=1,
        seat=0,
        message="all on six",
    )
    assert [type(event) for event in events[1:]] == [Placed, Roll]


def attempts(match: Match) -> Iterator[tuple[int, int, int]]:
    """List seats, turns and faces in and around those that exist."""
    seats = range(-1, len(match.players) + 1)
    turns = range(match.turn - 1, match.turn + 2)
    return product(seats, turns, range(8))


def attempt(match: Match, seat: int, turn: int, face: int) -> ErrorCode | None:
    """Try a placement; its error code, or None if it counted."""
    try:
        place(
            match,
            seed_of(0),
            seat=seat,
            turn=turn,
            face=face,
            nonce="",
            message="",
            moment=Moment(match.rolled_at),
        )
    except IllegalMove as error:
        return error.code
    return None


def verdict(match: Match, seat: int, turn: int, face: int) -> ErrorCode | None:
    """Say what the protocol wants of a placement, from the legal actions alone."""
    if match.status == "finished" or turn != match.turn:
        return ErrorCode.STALE_TURN
    if seat != match.current_seat:
        return ErrorCode.NOT_YOUR_TURN
    legal = [action.params.face for action in legal_actions(match.roll)]
    return None if face in legal else ErrorCode.ILLEGAL_FACE


@pytest.mark.parametrize("seats", [3, 4, 5])
def test_only_legal_placements_count_and_others_leave_the_match_untouched(seats: int) -> None:
    for match in play(7, seats, config=SHORT).states:
        packed = msgspec.msgpack.encode(match)
        found = {tried: attempt(match, *tried) for tried in attempts(match)}
        assert found == {tried: verdict(match, *tried) for tried in attempts(match)}
        assert msgspec.msgpack.encode(match) == packed


def refusal(match: Match, **changed: int) -> str:
    tried = {"seat": 0, "turn": match.turn, "face": match.roll[0] if match.roll else 1}
    with pytest.raises(IllegalMove) as caught:
        place(
            match,
            seed_of(0),
            **(tried | changed),
            nonce="",
            message="",
            moment=Moment(match.rolled_at),
        )
    return f"{caught.value.code}: {caught.value}"


def test_refusal_says_what_to_do() -> None:
    match, _ = opened()
    faces = ", ".join(str(face) for face in sorted(set(match.roll)))
    assert [refusal(match, turn=2), refusal(match, seat=1), refusal(match, face=7)] == [
        "stale_turn: turn 1 is being played: name the turn of your own latest roll",
        "not_your_turn: seat 0 is to act in turn 1: wait for a roll of your own",
        f"illegal_face: that face was not rolled: place one of {faces}",
    ]


def test_refusal_after_the_end_says_that_the_match_has_finished() -> None:
    assert refusal(play(config=SHORT).end) == (
        "stale_turn: the match has finished: no more moves are taken, join for another one"
    )


@pytest.mark.parametrize(
    "move",
    [
        lambda match: time_out(match, seed_of(0), Moment(0)),
        lambda match: move_deadline(match, 0, OUTAGE, Moment(0)),
    ],
)
def test_clock_moves_no_finished_match(move: Callable[[Match], Step]) -> None:
    with pytest.raises(IllegalMove) as caught:
        move(play(config=SHORT).end)
    assert caught.value.code is ErrorCode.STALE_TURN


@each_case("auto_place")
def test_automatic_face_is_that_of_the_vectors(given: dict[str, Any], expected: int) -> None:
    assert auto_face(given["dice"]) == expected


def test_time_out_places_the_automatic_face() -> None:
    before, _ = opened()
    after, events = miss(before)
    placed = events[0]
    assert isinstance(placed, Placed)
    face = auto_face(before.roll)
    assert (placed.face, placed.nonce, placed.is_auto) == (face, "", True)
    assert placed.entropy == fairness.next_entropy(before.entropy, 1, 0, face, "").hex()
    player = after.players[0]
    assert (player.autos_in_a_row, player.auto_placements, player.placements) == (1, 1, 1)
    assert (player.think_total_ms, player.think_max_ms) == (0, 0)


def test_own_placement_ends_being_away() -> None:
    match, _ = opened(seats=3)
    for _ in range(6):
        match, _ = miss(match)
    assert [player.away for player in match.players] == [True, True, True]
    assert match.deadline == match.rolled_at + 5_000
    match, events = place_first(match)
    assert [player.away for player in match.players] == [False, True, True]
    assert match.players[0].auto_placements == 2
    assert isinstance(events[0], Placed)
    assert not events[0].away


def test_move_deadline_changes_the_deadline_alone() -> None:
    before, _ = opened()
    later = STARTED_AT + 120_000
    after, events = move_deadline(before, later, OUTAGE, Moment(STARTED_AT + 5))
    assert events == (
        DeadlineMoved(
            match_id=before.match_id,
            seq=4,
            ts=STARTED_AT + 5,
            round=1,
            turn=1,
            seat=0,
            deadline=later,
            reason="outage",
        ),
    )
    assert after == replace(before, seq=4, deadline=later)


@thorough
@for_all(any_match)
def test_log_replays_to_the_same_states(played: Played) -> None:
    match, events = played.states[0], list(played.log[:3])
    states = [match]
    for event in played.log[3:]:
        if isinstance(event, DeadlineMoved):
            match, made = move_deadline(match, event.deadline, event.reason, Moment(event.ts))
        elif isinstance(event, Placed):
            match, made = replayed(match, played, event)
        else:
            continue
        states.append(match)
        events += made
    assert tuple(states) == played.states
    assert tuple(events) == played.log


def replayed(match: Match, played: Played, placed: Placed) -> Step:
    if placed.is_auto:
        return time_out(match, played.seed, Moment(placed.ts))
    before = played.log[placed.seq - 2]
    return place(
        match,
        played.seed,
        seat=placed.seat,
        turn=placed.turn,
        face=placed.face,
        nonce=placed.nonce,
        message=before.message if isinstance(before, TableTalk) else "",
        moment=Moment(placed.ts),
    )
