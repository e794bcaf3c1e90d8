import asyncio

from hub.rules.match import Match
from hub.store.lobby import Closed, read_notice
from hub.tables.deadlines import LONGEST_SLEEP_SECONDS
from protocol.messages import (
    DeadlineMoved,
    Placed,
)
from tests.store.conftest import MakeParts
from tests.store.parts import (
    PATIENCE_SECONDS,
    Ear,
    Parts,
    create,
    placements,
    turn_of,
)

HOUR_MS = 3_600_000
MINUTE_MS = 60_000
NEWCOMERS_HP = 1000


# ---- Deadlines


async def test_hubs_that_look_at_once_place_once_for_each_late_agent(make_parts: MakeParts) -> None:
    hubs = [make_parts(turn_ms=1) for _ in range(3)]
    match_id = await hubs[0].seat()
    await hubs[0].tick_until_over(match_id, *hubs[1:])
    events = await hubs[0].events(match_id)
    placed = placements(events)
    assert [each.turn for each in placed] == list(range(1, len(placed) + 1))
    assert all(each.is_auto for each in placed)
    assert sum(hub.count("auto_placements") for hub in hubs) == len(placed)


async def test_no_placement_is_made_before_the_deadline(parts: Parts) -> None:
    match = await create(parts.tables)
    for _ in range(3):
        await parts.clock.tick()
    assert await parts.match(match.match_id) == match


async def test_a_look_tells_when_the_next_deadline_is_due(make_parts: MakeParts) -> None:
    parts = make_parts(turn_ms=200)
    assert await parts.clock.tick() == LONGEST_SLEEP_SECONDS
    await parts.seat()
    assert 0 < await parts.clock.tick() <= 0.2


async def test_a_deadline_that_a_hub_has_claimed_is_left_to_it(make_parts: MakeParts) -> None:
    claimer, other = make_parts(), make_parts()
    match = await create(claimer.tables, turn_ms=1)
    while not (await claimer.tables.claim(claimer.tables.slot(match.match_id))).match_ids:
        pass
    await other.clock.tick()
    assert await other.match(match.match_id) == match


async def test_a_deadline_whose_claimer_died_is_acted_on_after_the_lease(
    make_parts: MakeParts,
) -> None:
    dead, alive = make_parts(lease_ms=20), make_parts()
    match = await create(dead.tables, turn_ms=1)
    while not (await dead.tables.claim(dead.tables.slot(match.match_id))).match_ids:
        pass
    while await alive.match(match.match_id) == match:
        await alive.clock.tick()
    (placed,) = placements(await alive.events(match.match_id))
    assert placed.is_auto


async def test_an_agent_that_acts_in_time_is_not_placed_for(make_parts: MakeParts) -> None:
    parts = make_parts()
    match = await create(parts.tables)
    slot = parts.tables.slot(match.match_id)
    await parts.link.call("ZADD", parts.keys.due(slot), 1, match.match_id)  # a claim long ago
    await asyncio.gather(parts.clock.tick(), parts.referee.place(*turn_of(match)))
    (placed,) = placements(await parts.events(match.match_id))
    assert not placed.is_auto


async def test_a_clock_that_runs_places_and_books_by_itself(make_parts: MakeParts) -> None:
    parts = make_parts(turn_ms=1)
    ear = Ear(parts.keys.lobby_feed)
    await parts.listen()
    await parts.feed.subscribe(ear.subscription)
    match = await parts.match(await parts.seat())
    while match.turn <= 2:
        await parts.clock.tick()
        match = await parts.match(match.match_id)
    parts.run(parts.clock.run())
    await parts.play_out(match.match_id)
    notices = [read_notice(message) for message in await ear.hear(2)]
    assert isinstance(notices[1], Closed)


# ---- Outages


async def outage(parts: Parts, match: Match, *, silent_ms: int, deadline_in_ms: int) -> int:
    """Pretend that all hubs were silent for so long, with a deadline so long after their last look.

    Returns the deadline.
    """
    slot = parts.tables.slot(match.match_id)
    pulse = match.started_at - silent_ms
    deadline = pulse + deadline_in_ms
    key = parts.keys.match(match.match_id)
    await parts.link.call("SET", parts.keys.pulse(slot), pulse)
    await parts.link.call("HSET", key, "ts", pulse - 1, "deadline", deadline)
    await parts.link.call("ZADD", parts.keys.due(slot), deadline, match.match_id)
    return deadline


async def test_time_that_all_hubs_were_away_is_given_back_before_anyone_is_placed_for(
    make_parts: MakeParts,
) -> None:
    parts = make_parts(outage_ms=1_000)
    match = await create(parts.tables, turn_ms=1)
    deadline = await outage(parts, match, silent_ms=MINUTE_MS, deadline_in_ms=5_000)
    await parts.clock.tick()
    moved = (await parts.events(match.match_id))[3:]
    assert [type(event) for event in moved] == [DeadlineMoved]
    assert isinstance(moved[0], DeadlineMoved)
    assert MINUTE_MS <= moved[0].deadline - deadline <= MINUTE_MS + PATIENCE_SECONDS * 1000
    assert (await parts.match(match.match_id)).deadline == moved[0].deadline


async def test_time_is_given_back_once_by_however_many_hubs(make_parts: MakeParts) -> None:
    hubs = [make_parts(outage_ms=1_000) for _ in range(3)]
    match = await create(hubs[0].tables, turn_ms=1)
    await outage(hubs[0], match, silent_ms=MINUTE_MS, deadline_in_ms=5_000)
    for _ in range(3):
        await asyncio.gather(*(hub.clock.tick() for hub in hubs))
    events = (await hubs[0].events(match.match_id))[3:]
    assert [type(event) for event in events] == [DeadlineMoved]


async def test_a_deadline_that_had_passed_before_an_outage_is_not_moved(
    make_parts: MakeParts,
) -> None:
    parts = make_parts(outage_ms=1_000)
    match = await create(parts.tables, turn_ms=1)
    await outage(parts, match, silent_ms=MINUTE_MS, deadline_in_ms=-1)
    await parts.clock.tick()
    assert isinstance((await parts.events(match.match_id))[3], Placed)


async def test_a_short_silence_is_not_made_up_for(make_parts: MakeParts) -> None:
    parts = make_parts(outage_ms=HOUR_MS)
    match = await create(parts.tables, turn_ms=1)
    await outage(parts, match, silent_ms=MINUTE_MS, deadline_in_ms=5_000)
    await parts.clock.tick()
    assert isinstance((await parts.events(match.match_id))[3], Placed)


async def test_a_turn_that_began_after_an_outage_is_not_prolonged(make_parts: MakeParts) -> None:
    parts = make_parts(outage_ms=1_000)
    match = await create(parts.tables)
    slot = parts.tables.slot(match.match_id)
    await parts.link.call("SET", parts.keys.pulse(slot), match.started_at - MINUTE_MS)
    await parts.clock.tick()
    assert await parts.match(match.match_id) == match


async def test_a_moved_deadline_that_nobody_was_told_of_is_told_after_the_lease(
    make_parts: MakeParts,
) -> None:
    dead, alive = make_parts(outage_ms=1_000, lease_ms=20), make_parts()
    match = await create(dead.tables, turn_ms=1)
    await outage(dead, match, silent_ms=MINUTE_MS, deadline_in_ms=5_000)
    await dead.tables.claim(dead.tables.slot(match.match_id))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await alive.match(match.match_id) == match:
            await alive.clock.tick()
    events = (await alive.events(match.match_id))[3:]
    assert [type(event) for event in events] == [DeadlineMoved]
