import asyncio
from typing import Any

import msgspec

from hub.rules import match as rules
from hub.rules.match import Match, Moment
from hub.store.stamps import AT_COMMIT
from hub.store.tables import (
    CLAIM_LIMIT,
    Claimed,
    Committed,
    Loaded,
    Record,
    Replayed,
    Update,
    read_update,
    record_key,
)
from protocol.codec import decode_event
from protocol.messages import Roll
from tests.store.conftest import MakeParts
from tests.store.parts import (
    AGENTS,
    LONG_MS,
    SEED,
    Ear,
    Parts,
    copy_of,
    create,
    new_match,
    place,
    placed,
    read,
    record_of,
    turn_of,
)

HOUR_MS = 3_600_000


async def field(parts: Parts, match: Match, name: str) -> Any:
    return await parts.link.call("HGET", parts.keys.match(match.match_id), name)


async def due(parts: Parts, match: Match) -> float | None:
    """Read when a hub is to look at a match's deadline."""
    slot = parts.keys.slot(match.match_id)
    score = await parts.link.call("ZSCORE", parts.keys.due(slot), match.match_id)
    return None if score is None else float(score)


async def log_ids(parts: Parts, match: Match) -> list[bytes]:
    entries = await parts.link.call("XRANGE", parts.keys.log(match.match_id), "-", "+")
    return [id for id, _ in entries]


async def finish(parts: Parts, match: Match) -> Match:
    while match.current_seat is not None:
        match = await place(parts.tables, match)
    return match


# ---- Committed


async def test_a_new_match_is_kept_as_the_rules_made_it(parts: Parts) -> None:
    match, events = new_match()
    assert await parts.tables.commit(match, events, server_seed=SEED) == Committed(None)
    loaded = await parts.tables.load(match.match_id)
    assert loaded is not None
    now = loaded.copy.match.started_at
    expected, _ = new_match(match.match_id, moment=Moment(now))
    assert loaded == Loaded(copy_of(expected), now + LONG_MS, None)


async def test_the_log_holds_the_events_as_the_rules_made_them(parts: Parts) -> None:
    match = await create(parts.tables)
    _, expected = new_match(match.match_id, moment=Moment(match.started_at))
    log = await parts.tables.log(match.match_id, 1)
    assert [decode_event(packed, "msgpack") for packed in log] == list(expected)


async def test_a_placement_is_kept_with_the_time_of_its_commit(parts: Parts) -> None:
    before = await create(parts.tables)
    after = await place(parts.tables, before)
    assert after == placed(before, moment=Moment(after.rolled_at))[0]


async def test_log_ids_are_the_events_numbers(parts: Parts) -> None:
    match = await finish(parts, await create(parts.tables))
    expected = [f"{seq}-0".encode() for seq in range(1, match.seq + 1)]
    assert await log_ids(parts, match) == expected


async def test_a_part_of_the_log_can_be_read(parts: Parts) -> None:
    match = await place(parts.tables, await create(parts.tables))
    log = await parts.tables.log(match.match_id, 1)
    assert await parts.tables.log(match.match_id, 2, 4) == log[1:4]
    assert await parts.tables.log(match.match_id, 4) == log[3:]
    assert await parts.tables.log(match.match_id, match.seq + 1) == []
    assert await parts.tables.last_event(match.match_id) == log[-1]


async def test_every_event_of_a_commit_has_the_same_time(parts: Parts) -> None:
    match = await place(parts.tables, await create(parts.tables))
    times = [decode_event(each, "msgpack").ts for each in await parts.tables.log(match.match_id, 1)]
    assert times == [match.started_at] * 3 + [match.rolled_at] * 2


async def test_time_never_goes_back_even_if_the_server_s_does(parts: Parts) -> None:
    match = await create(parts.tables)
    future = match.started_at + HOUR_MS
    await parts.link.call("HSET", parts.keys.match(match.match_id), "ts", future)
    match = await place(parts.tables, match)
    last = await parts.tables.last_event(match.match_id)
    assert last is not None
    assert (match.rolled_at, decode_event(last, "msgpack").ts) == (future, future)
    assert await field(parts, match, "ts") == str(future).encode()


async def test_a_commit_is_one_round_trip(parts: Parts) -> None:
    match = await create(parts.tables)
    before = parts.link.round_trips
    await parts.tables.commit(*placed(match, "hello"))
    assert parts.link.round_trips == before + 1


async def test_a_commit_is_published_as_it_was_kept(parts: Parts) -> None:
    match = await create(parts.tables)
    ear = Ear(parts.keys.feed(match.match_id))
    await parts.listen()
    await parts.feed.subscribe(ear.subscription)
    after = await place(parts.tables, match)
    (message,) = await ear.hear(1)
    packed = await parts.tables.load_packed(match.match_id)
    log = await parts.tables.log(match.match_id, match.seq + 1)
    assert packed is not None
    assert read_update(message) == Update(match.seq + 1, packed[1], tuple(log))
    assert packed[0] == after.seq


# ---- Deadlines


async def test_a_roll_sets_its_deadline(parts: Parts) -> None:
    match = await create(parts.tables, turn_ms=7_000)
    for _ in range(3):
        assert match.deadline == match.rolled_at + 7_000
        assert await field(parts, match, "deadline") == str(match.deadline).encode()
        assert await due(parts, match) == match.deadline
        match = await place(parts.tables, match)


async def test_a_roll_s_event_and_state_name_the_same_deadline(parts: Parts) -> None:
    match = await create(parts.tables)
    last = await parts.tables.last_event(match.match_id)
    assert last is not None
    roll = decode_event(last, "msgpack")
    assert isinstance(roll, Roll)
    assert roll.deadline == match.deadline


async def test_a_deadline_can_be_set_to_a_given_time(parts: Parts) -> None:
    match = await create(parts.tables)
    moved = match.started_at + HOUR_MS
    step = rules.move_deadline(match, moved, "outage", AT_COMMIT)
    assert await parts.tables.commit(*step) == Committed(None)
    assert await read(parts.tables, match.match_id) == step[0]
    assert await field(parts, match, "deadline") == str(moved).encode()
    assert await due(parts, match) == moved


async def test_a_match_that_ends_has_no_deadline_and_waits_to_be_booked(parts: Parts) -> None:
    match = await create(parts.tables)
    slot = parts.keys.slot(match.match_id)
    assert await parts.tables.unbooked(slot) == []
    match = await finish(parts, match)
    assert await parts.tables.unbooked(slot) == [match.match_id]
    assert await field(parts, match, "deadline") is None
    assert await due(parts, match) is None
    assert await parts.tables.claim(slot) == Claimed((), None)
    await parts.tables.mark_booked(match.match_id)
    assert await parts.tables.unbooked(slot) == []


# ---- Records


async def test_an_action_s_record_is_kept_under_its_agent_and_id(parts: Parts) -> None:
    match = await create(parts.tables)
    agent_id, _ = turn_of(match)
    after = await place(parts.tables, match, "move-1")
    expected = record_of(match, after.rolled_at - match.rolled_at)
    assert record_key(agent_id, "move-1") == f"id:{agent_id}:move-1"
    loaded = await parts.tables.load(match.match_id, record_key(agent_id, "move-1"))
    assert loaded == Loaded(copy_of(after), after.deadline, expected)
    packed = await field(parts, match, f"id:{agent_id}:move-1")
    assert msgspec.msgpack.decode(packed, type=Record) == expected


async def test_another_agent_s_record_is_not_found(parts: Parts) -> None:
    match = await create(parts.tables)
    agent_id, _ = turn_of(match)
    await place(parts.tables, match, "move-1")
    for other in set(AGENTS) - {agent_id}:
        loaded = await parts.tables.load(match.match_id, record_key(other, "move-1"))
        assert loaded is not None
        assert loaded.record is None


async def test_the_committed_record_tells_how_long_the_agent_thought(parts: Parts) -> None:
    match = await create(parts.tables)
    await parts.link.call("HSET", parts.keys.match(match.match_id), "ts", match.rolled_at + HOUR_MS)
    think_ms = AT_COMMIT.now_ms - match.rolled_at
    outcome = await parts.tables.commit(*placed(match), record=record_of(match, think_ms))
    assert outcome == Committed(record_of(match, HOUR_MS))


async def test_an_action_without_an_id_leaves_no_record(parts: Parts) -> None:
    match = await place(parts.tables, await create(parts.tables), None)
    fields = await parts.link.call("HKEYS", parts.keys.match(match.match_id))
    assert sorted(fields) == [b"deadline", b"public", b"secret", b"seq", b"ts"]


async def test_a_step_that_was_taken_is_replayed(parts: Parts) -> None:
    before = await create(parts.tables)
    after = await place(parts.tables, before, "move-1")
    key = record_key(turn_of(before)[0], "move-1")
    again = await parts.tables.commit(
        *placed(before), key=key, record=record_of(before, digest=b"x")
    )
    assert again == Replayed(record_of(before, after.rolled_at - before.rolled_at))


# ---- Reading


async def test_there_is_nothing_to_read_of_an_unknown_match(parts: Parts) -> None:
    assert await parts.tables.load("none", "id:x:1") is None
    assert await parts.tables.load_packed("none") is None
    assert await parts.tables.log("none", 1) == []
    assert await parts.tables.last_event("none") is None
    assert not await parts.tables.exists("none")


async def test_public_states_are_read_in_the_order_asked_for(parts: Parts) -> None:
    matches = [await create(parts.tables) for _ in range(3)]
    ids = [matches[2].match_id, "none", matches[0].match_id]
    assert await parts.tables.public(ids) == [matches[2], None, matches[0]]
    assert await parts.tables.exists(ids[0])


# ---- Claims


async def claims(parts: Parts) -> list[Claimed]:
    return [await parts.tables.claim(slot) for slot in parts.tables.slots]


async def test_a_deadline_that_has_passed_is_claimed_by_one_hub(make_parts: MakeParts) -> None:
    hubs = [make_parts() for _ in range(4)]
    match = await create(hubs[0].tables, turn_ms=1)
    slot = hubs[0].keys.slot(match.match_id)
    found: list[Claimed] = []
    while not any(claim.match_ids for claim in found):
        found = await asyncio.gather(*(hub.tables.claim(slot) for hub in hubs))
    found += await asyncio.gather(*(hub.tables.claim(slot) for hub in hubs))
    assert [claim.match_ids for claim in found if claim.match_ids] == [(match.match_id,)]


async def test_a_claim_tells_how_long_the_next_deadline_is_away(parts: Parts) -> None:
    match = await create(parts.tables)
    found = await parts.tables.claim(parts.keys.slot(match.match_id))
    assert found.match_ids == ()
    assert found.next_ms is not None
    assert 0 < found.next_ms <= LONG_MS


async def test_a_claim_that_is_not_acted_on_can_be_taken_over_after_the_lease(
    make_parts: MakeParts,
) -> None:
    parts = make_parts(lease_ms=20)
    match = await create(parts.tables, turn_ms=1)
    claimed: list[str] = []
    while len(claimed) < 2:
        claimed += (await parts.tables.claim(parts.keys.slot(match.match_id))).match_ids
    assert claimed == [match.match_id] * 2


async def test_at_most_so_many_deadlines_are_claimed_at_once(parts: Parts) -> None:
    ids = {f"m{number}" for number in range(CLAIM_LIMIT + 50)}
    for id in ids:
        parts.link.call("ZADD", parts.keys.due(0), 1, id)
    first, second = await parts.tables.claim(0), await parts.tables.claim(0)
    assert (len(first.match_ids), len(second.match_ids)) == (CLAIM_LIMIT, 50)
    assert {*first.match_ids, *second.match_ids} == ids
    assert first.next_ms == 0
