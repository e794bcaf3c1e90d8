import asyncio
from collections.abc import Awaitable

import pytest
from msgspec.structs import replace

from hub.rules import match as rules
from hub.rules.match import Match
from hub.store.link import StoreUnavailable
from hub.store.stamps import AT_COMMIT
from hub.store.tables import Committed, TableCopy
from hub.tables.referee import Placement, Referee, Refusal
from protocol.messages import (
    Action,
    AgentId,
    DeadlineMoved,
    ErrorCode,
    MatchFinished,
    Placed,
    Roll,
    TableTalk,
)
from tests.store.conftest import MakeParts
from tests.store.parts import AGENTS, Parts, copy_of, create, placements, turn_of
from tests.store.valkey import OwnValkey

HOUR_MS = 3_600_000


async def refusal(attempt: Awaitable[object]) -> ErrorCode:
    with pytest.raises(Refusal) as caught:
        await attempt
    assert caught.value.message
    return caught.value.code


async def advance_clock(parts: Parts, match: Match, to_ms: int) -> None:
    """Let a match see the store's clock at a given time at least."""
    await parts.link.call("HSET", parts.keys.match(match.match_id), "ts", to_ms)


def with_copy(parts: Parts, match: Match) -> Referee:
    """Make the referee of a hub that holds a copy."""
    return Referee(parts.tables, {match.match_id: copy_of(match)}.get)  # type: ignore[arg-type]


def other_than(agent_id: AgentId) -> AgentId:
    return next(each for each in AGENTS if each != agent_id)


# ---- Placing


async def test_a_placement_is_committed_and_recorded(parts: Parts) -> None:
    match = await create(parts.tables)
    agent_id, action = turn_of(match, id="move-1")
    placement = await parts.referee.place(agent_id, action)
    roll, placed = (await parts.events(match.match_id))[2:4]
    assert isinstance(roll, Roll)
    assert isinstance(placed, Placed)
    assert (placed.seat, placed.turn, placed.face) == (roll.seat, 1, action.params.face)
    assert not placement.replayed
    assert (placement.record.turn, placement.record.seq) == (1, placed.seq)
    assert placement.record.think_ms == placed.ts - roll.ts


async def test_a_placement_with_talk_is_the_event_after_the_talk(parts: Parts) -> None:
    match = await create(parts.tables)
    placement = await parts.referee.place(*turn_of(match, message="all on six"))
    talk, placed = (await parts.events(match.match_id))[3:5]
    assert isinstance(talk, TableTalk)
    assert isinstance(placed, Placed)
    assert placement.record.seq == placed.seq


async def test_a_hub_with_a_current_copy_needs_one_round_trip(parts: Parts) -> None:
    match = await create(parts.tables)
    before = parts.link.round_trips
    await with_copy(parts, match).place(*turn_of(match))
    assert parts.link.round_trips == before + 1


async def test_a_hub_without_a_copy_loads_the_table_first(parts: Parts) -> None:
    match = await create(parts.tables)
    before = parts.link.round_trips
    await parts.referee.place(*turn_of(match))
    assert parts.link.round_trips == before + 2


async def test_a_stale_copy_costs_one_conflict(parts: Parts) -> None:
    """A deadline was moved meanwhile: the placement is as legal as before."""
    match = await create(parts.tables)
    moved = rules.move_deadline(match, match.started_at + HOUR_MS, "outage", AT_COMMIT)
    assert await parts.tables.commit(*moved) == Committed(None)
    before = parts.link.round_trips
    placement = await with_copy(parts, match).place(*turn_of(match))
    assert parts.link.round_trips == before + 2
    assert placement.record.seq == match.seq + 2


async def test_a_copy_from_before_the_agent_s_turn_costs_a_load(parts: Parts) -> None:
    old = await create(parts.tables)
    await parts.referee.place(*turn_of(old))
    match = await parts.match(old.match_id)
    placement = await with_copy(parts, old).place(*turn_of(match))
    assert placement.record.turn == 2


async def test_a_whole_match_can_be_played_on_stale_copies(make_parts: MakeParts) -> None:
    """Two hubs take turns, and each only knows what it has done itself."""
    hubs = [make_parts(), make_parts()]
    match = await create(hubs[0].tables)
    copies = [match, match]
    turn = 0
    while match.current_seat is not None:
        own = turn % 2
        await with_copy(hubs[own], copies[own]).place(*turn_of(match))
        match = copies[own] = await hubs[own].match(match.match_id)
        turn += 1
    events = await hubs[0].events(match.match_id)
    assert [placed.turn for placed in placements(events)] == list(range(1, turn + 1))


async def test_the_end_of_a_match_is_noted(parts: Parts) -> None:
    ends: list[str] = []
    parts.referee.on_finish = lambda: ends.append("end")
    match = await create(parts.tables)
    await parts.play_out(match.match_id)
    events = await parts.events(match.match_id)
    assert ends == ["end"]
    assert isinstance(events[-1], MatchFinished)


# ---- Exactly once


async def test_an_action_sent_again_gets_the_first_result(parts: Parts) -> None:
    match = await create(parts.tables)
    agent_id, action = turn_of(match, id="move-1")
    first = await parts.referee.place(agent_id, action)
    assert await parts.referee.place(agent_id, action) == Placement(first.record, replayed=True)
    assert len(placements(await parts.events(match.match_id))) == 1


@pytest.mark.parametrize("knows", ["nothing", "the table before", "the table after"])
async def test_an_action_sent_again_to_another_hub_gets_the_first_result(
    make_parts: MakeParts, knows: str
) -> None:
    here, there = make_parts(), make_parts()
    before = await create(here.tables)
    agent_id, action = turn_of(before, id="move-1")
    first = await here.referee.place(agent_id, action)
    after = await here.match(before.match_id)
    copies = {"nothing": there.referee, "the table before": with_copy(there, before)}
    referee = copies.get(knows, with_copy(there, after))
    assert await referee.place(agent_id, action) == Placement(first.record, replayed=True)


async def test_an_action_sent_again_after_the_match_gets_the_first_result(parts: Parts) -> None:
    match = await create(parts.tables)
    agent_id, action = turn_of(match, id="move-1")
    first = await parts.referee.place(agent_id, action)
    await parts.play_out(match.match_id)
    assert await parts.referee.place(agent_id, action) == Placement(first.record, replayed=True)


async def test_an_action_sent_again_after_its_deadline_gets_the_first_result(parts: Parts) -> None:
    match = await create(parts.tables)
    agent_id, action = turn_of(match, id="move-1")
    first = await parts.referee.place(agent_id, action)
    await advance_clock(parts, match, match.started_at + HOUR_MS)
    again = await with_copy(parts, match).place(agent_id, action)
    assert again == Placement(first.record, replayed=True)


@pytest.mark.parametrize("change", ["face", "message", "nonce", "turn"])
async def test_an_id_stands_for_one_content(parts: Parts, change: str) -> None:
    match = await create(parts.tables)
    agent_id, action = turn_of(match, id="move-1")
    await parts.referee.place(agent_id, action)
    others = {
        "face": replace(action, params=replace(action.params, face=action.params.face % 6 + 1)),
        "message": replace(action, params=replace(action.params, message="hm")),
        "nonce": replace(action, params=replace(action.params, nonce="hm")),
        "turn": replace(action, turn=2),
    }
    code = await refusal(parts.referee.place(agent_id, others[change]))
    assert code is ErrorCode.KEY_REUSED
    assert len(placements(await parts.events(match.match_id))) == 1


async def test_agents_ids_are_their_own(parts: Parts) -> None:
    match = await create(parts.tables)
    await parts.referee.place(*turn_of(match, id="move"))
    second = await parts.referee.place(*turn_of(await parts.match(match.match_id), id="move"))
    assert (second.replayed, second.record.turn) == (False, 2)


async def test_an_action_without_an_id_counts_once(parts: Parts) -> None:
    match = await create(parts.tables)
    agent_id, action = turn_of(match)
    await parts.referee.place(agent_id, action)
    assert await refusal(parts.referee.place(agent_id, action)) is ErrorCode.STALE_TURN


async def test_hubs_that_get_the_same_action_at_once_commit_it_once(make_parts: MakeParts) -> None:
    hubs = [make_parts() for _ in range(6)]
    match = await create(hubs[0].tables)
    agent_id, action = turn_of(match, id="move-1")
    referees = [*(hub.referee for hub in hubs), *(with_copy(hub, match) for hub in hubs)]
    found = await asyncio.gather(*(each.place(agent_id, action) for each in referees))
    assert sorted(each.replayed for each in found) == [False] + [True] * 11
    assert len({each.record for each in found}) == 1
    assert len(placements(await hubs[0].events(match.match_id))) == 1


async def test_hubs_that_get_two_actions_for_a_turn_commit_one(make_parts: MakeParts) -> None:
    hubs = [make_parts(), make_parts()]
    match = await create(hubs[0].tables)
    found = await asyncio.gather(
        *(
            hub.referee.place(*turn_of(match, id=f"move-{number}"))
            for number, hub in enumerate(hubs)
        ),
        return_exceptions=True,
    )
    refusals = [each for each in found if isinstance(each, Refusal)]
    assert [each.code for each in refusals] == [ErrorCode.STALE_TURN]
    assert len(placements(await hubs[0].events(match.match_id))) == 1


async def test_every_move_of_a_match_sent_to_two_hubs_at_once_counts_once(
    make_parts: MakeParts,
) -> None:
    hubs = [make_parts(), make_parts()]
    match = await create(hubs[0].tables)
    while match.current_seat is not None:
        agent_id, action = turn_of(match, id=f"turn-{match.turn}")
        found = await asyncio.gather(*(hub.referee.place(agent_id, action) for hub in hubs))
        assert sorted(each.replayed for each in found) == [False, True]
        match = await hubs[0].match(match.match_id)
    events = await hubs[0].events(match.match_id)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert [each.turn for each in placements(events)] == list(range(1, match.turn + 1))


async def test_a_move_whose_answer_got_lost_counts_once(
    valkey: OwnValkey, make_parts: MakeParts
) -> None:
    parts = make_parts(url=valkey.url, answer_seconds=0.1)
    match = await create(parts.tables)
    agent_id, action = turn_of(match, id="move-1")
    referee = with_copy(parts, match)
    valkey.pause()
    with pytest.raises(StoreUnavailable):
        await referee.place(agent_id, action)
    valkey.resume()
    found = [await referee.place(agent_id, action) for _ in range(2)]
    assert found[1] == Placement(found[0].record, replayed=True)
    assert len(placements(await parts.events(match.match_id))) == 1


# ---- Refusals


async def place_by(
    parts: Parts, match: Match, agent_id: AgentId, action: Action, copy: TableCopy | None
) -> ErrorCode:
    """Have an action refused, on this hub's copy if it has one; nothing has changed after."""
    before = await parts.tables.load_packed(match.match_id)
    code = await refusal(Referee(parts.tables, lambda _: copy).place(agent_id, action))
    assert await parts.tables.load_packed(match.match_id) == before
    return code


@pytest.mark.parametrize("has_copy", [False, True])
async def test_what_the_rules_refuse_is_refused(parts: Parts, has_copy: bool) -> None:
    match = await create(parts.tables)
    copy = copy_of(match) if has_copy else None
    agent_id, action = turn_of(match)
    wrong_face = next(face for face in (1, 2, 3, 4, 5, 6, 7) if face not in match.roll)
    unrolled = turn_of(match, face=wrong_face)[1]
    codes = [
        await place_by(parts, match, agent_id, unrolled, copy),
        await place_by(parts, match, agent_id, replace(action, turn=2), copy),
        await place_by(parts, match, other_than(agent_id), action, copy),
        await place_by(parts, match, AgentId("eve"), action, copy),
    ]
    assert codes == [
        ErrorCode.ILLEGAL_FACE,
        ErrorCode.STALE_TURN,
        ErrorCode.NOT_YOUR_TURN,
        ErrorCode.NOT_SEATED,
    ]


@pytest.mark.parametrize("match_id", ["none", "", "a" * 1000, "{t00}:match:x", "\x00"])
async def test_an_action_in_an_unknown_match_is_refused(parts: Parts, match_id: str) -> None:
    agent_id, action = turn_of(await create(parts.tables))
    code = await refusal(parts.referee.place(agent_id, replace(action, match_id=match_id)))
    assert code is ErrorCode.MATCH_NOT_FOUND


async def test_an_action_in_a_finished_match_is_stale(parts: Parts) -> None:
    match = await create(parts.tables)
    await parts.play_out(match.match_id)
    assert await refusal(parts.referee.place(*turn_of(match, id="x"))) is ErrorCode.STALE_TURN


@pytest.mark.parametrize("has_copy", [False, True])
async def test_an_action_after_the_deadline_is_refused(parts: Parts, has_copy: bool) -> None:
    match = await create(parts.tables)
    assert match.deadline is not None
    await advance_clock(parts, match, match.deadline)
    copy = copy_of(match) if has_copy else None
    code = await place_by(parts, match, *turn_of(match, id="move-1"), copy)
    assert code is ErrorCode.DEADLINE_PASSED


async def test_a_refused_action_s_id_can_be_used_again(parts: Parts) -> None:
    match = await create(parts.tables)
    agent_id, action = turn_of(match, face=7, id="move-1")
    assert await refusal(parts.referee.place(agent_id, action)) is ErrorCode.ILLEGAL_FACE
    placement = await parts.referee.place(*turn_of(match, id="move-1"))
    assert not placement.replayed


# ---- After an outage


async def test_an_action_after_a_deadline_that_was_moved_counts_once_players_were_told(
    parts: Parts,
) -> None:
    match = await create(parts.tables)
    assert match.deadline is not None
    later = match.deadline + HOUR_MS
    await parts.link.call("HSET", parts.keys.match(match.match_id), "deadline", later)
    await advance_clock(parts, match, match.deadline + 1)
    await parts.referee.place(*turn_of(match))
    moved, placed = (await parts.events(match.match_id))[3:5]
    assert isinstance(moved, DeadlineMoved)
    assert isinstance(placed, Placed)
    assert (moved.deadline, moved.reason, moved.turn) == (later, "outage", 1)
