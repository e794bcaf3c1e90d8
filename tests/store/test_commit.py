import asyncio
from typing import Any

import pytest

from hub.rules import match as rules
from hub.rules.match import Match
from hub.store.stamps import AT_COMMIT
from hub.store.tables import (
    Committed,
    Conflict,
    Early,
    Extended,
    Guard,
    Late,
    Replayed,
    SeatPresence,
    read_update,
    record_key,
)
from hub.tables.referee import Referee
from protocol.messages import AnyEvent
from tests.store.conftest import MakeParts
from tests.store.parts import (
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
from tests.store.valkey import OwnValkey

HOUR_MS = 3_600_000


async def everything(parts: Parts) -> dict[bytes, bytes]:
    """Read all keys of a test, each as the server would dump it."""
    names = await parts.link.call("KEYS", parts.keys.prefix + "*")
    dumps = await asyncio.gather(*(parts.link.call("DUMP", name) for name in names))
    return dict(zip(names, dumps, strict=True))


async def set_deadline(parts: Parts, match: Match, ms: int) -> None:
    await parts.link.call("HSET", parts.keys.match(match.match_id), "deadline", ms)


async def refused(parts: Parts, step: tuple[Match, tuple[AnyEvent, ...]], **how: Any) -> Any:
    """Take a step that is refused; the outcome, once it is sure that nothing has changed."""
    ear = Ear(parts.keys.feed(step[0].match_id))
    await parts.listen()
    await parts.feed.subscribe(ear.subscription)
    before = await everything(parts)
    outcome = await parts.tables.commit(*step, **how)
    assert await everything(parts) == before
    await parts.lobby.announce("ana", step[0].match_id, 0)
    assert [read_update(each) for each in await ear.hear(1)] == [SeatPresence(0, False)]
    return outcome


async def test_a_step_from_an_old_state_is_a_conflict(parts: Parts) -> None:
    old = await create(parts.tables)
    newer = await place(parts.tables, old)
    outcome = await refused(parts, placed(old), key="id:x:1", record=record_of(old))
    assert outcome == Conflict(copy_of(newer))


async def test_a_match_that_exists_can_not_be_created_again(parts: Parts) -> None:
    match = await create(parts.tables)
    outcome = await refused(parts, new_match(match.match_id), server_seed=b"another seed")
    assert outcome == Conflict(copy_of(match))


async def test_a_step_of_a_match_that_does_not_exist_is_a_conflict_with_nothing(
    parts: Parts,
) -> None:
    match = await create(parts.tables)
    await parts.link.call("DEL", parts.keys.match(match.match_id))
    assert await refused(parts, placed(match)) == Conflict(None)


async def test_a_step_after_the_deadline_is_late(parts: Parts) -> None:
    match = await create(parts.tables)
    await set_deadline(parts, match, match.started_at)
    outcome = await refused(parts, placed(match), guard="before", known_deadline=match.started_at)
    assert outcome == Late()


async def test_a_time_out_before_the_deadline_is_early(parts: Parts) -> None:
    match = await create(parts.tables)
    step = rules.time_out(match, SEED, AT_COMMIT)
    assert await refused(parts, step, guard="after") == Early()


async def test_a_step_that_was_taken_is_not_taken_again(parts: Parts) -> None:
    match = await create(parts.tables)
    key = record_key(turn_of(match)[0], "move-1")
    newer = await place(parts.tables, match, "move-1")
    outcome = await refused(parts, placed(newer), key=key, record=record_of(newer))
    assert outcome == Replayed(record_of(match, newer.rolled_at - match.rolled_at))


async def test_a_step_after_the_deadline_waits_if_an_outage_has_moved_that(parts: Parts) -> None:
    match = await create(parts.tables)
    outcome = await refused(parts, placed(match), guard="before", known_deadline=match.started_at)
    assert outcome == Extended()


# ---- The deadline's two sides


@pytest.mark.parametrize(
    ("guard", "deadline_in_ms", "outcome"),
    [
        ("before", -1, Late()),
        ("before", 0, Late()),
        ("before", 1, Committed(None)),
        ("after", -1, Committed(None)),
        ("after", 0, Committed(None)),
        ("after", 1, Early()),
        ("any", -1, Committed(None)),
        ("any", 1, Committed(None)),
    ],
)
async def test_the_deadline_itself_is_too_late(
    parts: Parts, guard: Guard, deadline_in_ms: int, outcome: object
) -> None:
    match = await create(parts.tables)
    now = match.started_at + HOUR_MS  # a time that the commit sees exactly
    deadline = now + deadline_in_ms
    await parts.link.call("HSET", parts.keys.match(match.match_id), "ts", now, "deadline", deadline)
    step = placed(match)
    assert await parts.tables.commit(*step, guard=guard, known_deadline=deadline) == outcome


async def test_of_many_steps_from_one_state_one_is_taken(make_parts: MakeParts) -> None:
    hubs = [make_parts() for _ in range(8)]
    match = await create(hubs[0].tables)
    outcomes = await asyncio.gather(*(hub.tables.commit(*placed(match)) for hub in hubs))
    newer = await read(hubs[0].tables, match.match_id)
    assert sorted(outcomes, key=repr) == [Committed(None), *[Conflict(copy_of(newer))] * 7]


# ---- On the wire


async def test_a_placement_on_a_current_copy_is_one_command_on_the_wire(
    valkey: OwnValkey, make_parts: MakeParts
) -> None:
    parts = make_parts(url=valkey.url)
    match = await place(parts.tables, await create(parts.tables))
    referee = Referee(parts.tables, lambda _: copy_of(match))
    with valkey.monitored() as sent:
        await referee.place(*turn_of(match, id="move-2"))
        assert [command.split()[0] for command in sent()] == ["EVALSHA"]
