import asyncio
import random
from collections.abc import Awaitable, Sequence

import pytest

from hub.rules.match import table_state
from hub.tables.replica import Table
from protocol.messages import MatchId
from tests.store.conftest import MakeParts
from tests.store.parts import (
    PATIENCE_SECONDS,
    Parts,
    Viewer,
    copy_of,
    create,
    place,
    placed,
    until,
)


async def follow(parts: Parts, match_id: str, after: int | None = None) -> Viewer:
    """Follow a table as a socket does."""
    viewer = Viewer()
    table = await parts.relay.open(match_id)
    assert table is not None
    await parts.relay.follow(table, viewer, after)
    return viewer


# ---- A feed that breaks


async def test_commits_that_a_broken_feed_missed_are_read_from_the_log(
    make_parts: MakeParts,
) -> None:
    here, there = make_parts(), make_parts()
    match = await create(here.tables)
    await here.listen()
    viewer = await follow(here, match.match_id, after=0)
    await there.cut_feed(here, there.tables.commit(*placed(match)))
    await viewer.see(match.seq + 2)
    assert viewer.seqs == list(range(1, match.seq + 3))


async def test_a_feed_that_breaks_during_a_storm_loses_nothing(make_parts: MakeParts) -> None:
    here, there = make_parts(), make_parts()
    match = await create(here.tables)
    await here.listen()
    viewer = await follow(here, match.match_id, after=0)
    storm = there.run(there.play_out(match.match_id))
    while not storm.done():
        for id in await here.subscribers():
            await there.link.call("CLIENT", "KILL", "ID", id)
    await viewer.end()
    assert viewer.seqs == [event.seq for event in await here.events(match.match_id)]


# ---- Followers


async def test_a_follower_without_after_begins_with_a_snapshot(parts: Parts) -> None:
    match = await place(parts.tables, await create(parts.tables))
    await parts.listen()
    viewer = await follow(parts, match.match_id)
    (snapshot,) = viewer.snapshots
    assert (snapshot.seq, snapshot.state) == (match.seq, table_state(match, [False] * 4))
    after = await place(parts.tables, match)
    await viewer.see(after.seq)
    assert viewer.seqs == list(range(match.seq + 1, after.seq + 1))


async def test_a_follower_gets_all_that_comes_after_any_event(parts: Parts) -> None:
    match = await place(parts.tables, await create(parts.tables))
    await parts.listen()
    viewers = [await follow(parts, match.match_id, after) for after in range(match.seq + 1)]
    newer = await place(parts.tables, match)
    for after, viewer in enumerate(viewers):
        await viewer.see(newer.seq)
        assert viewer.seqs == list(range(after + 1, newer.seq + 1))
        assert viewer.snapshots == []


async def test_a_follower_that_is_ahead_of_the_table_begins_with_a_snapshot(parts: Parts) -> None:
    match = await create(parts.tables)
    await parts.listen()
    viewer = await follow(parts, match.match_id, after=match.seq + 1)
    assert [snapshot.seq for snapshot in viewer.snapshots] == [match.seq]
    assert viewer.seqs == []


@pytest.mark.parametrize("after", [None, 0, 10, 10_000])
async def test_a_follower_of_a_finished_match_gets_the_rest_and_the_end(
    parts: Parts, after: int | None
) -> None:
    match_id = (await create(parts.tables)).match_id
    await parts.play_out(match_id)
    last = (await parts.match(match_id)).seq
    await parts.listen()
    viewer = await follow(parts, match_id, after)
    has_log = after is not None and after <= last
    assert viewer.seqs == (list(range((after or 0) + 1, last + 1)) if has_log else [])
    assert len(viewer.snapshots) == (0 if has_log else 1)
    assert viewer.over == [match_id]


async def test_a_follower_hears_the_end_after_the_last_event(parts: Parts) -> None:
    match_id = (await create(parts.tables)).match_id
    await parts.listen()
    viewer = await follow(parts, match_id, after=0)
    await parts.play_out(match_id)
    await viewer.end()
    assert viewer.seqs == list(range(1, (await parts.match(match_id)).seq + 1))
    assert viewer.over == [match_id]


async def test_one_that_was_let_go_gets_nothing_more(parts: Parts) -> None:
    match = await create(parts.tables)
    await parts.listen()
    gone, kept = [await follow(parts, match.match_id, 0) for _ in range(2)]
    table = await parts.relay.open(match.match_id)
    assert table is not None
    table.unseat(gone)
    newer = await place(parts.tables, match)
    await kept.see(newer.seq)
    assert gone.seqs == list(range(1, match.seq + 1))


async def test_an_unknown_match_can_not_be_followed(parts: Parts) -> None:
    await parts.listen()
    assert await parts.relay.open("none") is None
    assert parts.relay.copy("none") is None


async def test_those_who_come_at_once_share_one_table(parts: Parts) -> None:
    match = await create(parts.tables)
    await parts.listen()
    tables = await asyncio.gather(*(parts.relay.open(match.match_id) for _ in range(10)))
    assert len(set(map(id, tables))) == 1


@pytest.mark.parametrize("round", range(6))
async def test_those_who_come_during_a_storm_of_commits_miss_nothing(
    make_parts: MakeParts, round: int
) -> None:
    """On several hubs, each newcomer to a hub's table or to the match itself, at any moment."""
    chance = random.Random(round)
    hubs = [make_parts() for _ in range(3)]
    player = make_parts()
    match = await create(player.tables)
    for hub in hubs:
        await hub.listen()

    async def come(hub: Parts) -> tuple[Viewer, int | None]:
        after = chance.choice([None, 0, chance.randrange(100)])
        return await follow(hub, match.match_id, after), after

    storm = player.run(player.play_out(match.match_id))
    coming: list[asyncio.Task[tuple[Viewer, int | None]]] = []
    while not storm.done():
        coming.append(asyncio.create_task(come(chance.choice(hubs))))
        for _ in range(chance.randrange(6)):
            await player.link.call("PING")
    last = (await player.match(match.match_id)).seq
    for viewer, after in await asyncio.gather(*coming):
        await viewer.end()
        first = viewer.snapshots[0].seq if viewer.snapshots else after
        assert first is not None
        assert viewer.seqs == list(range(first + 1, last + 1))


# ---- Presence


async def test_followers_see_who_comes_and_goes(parts: Parts) -> None:
    match_id = await parts.seat()
    await parts.listen()
    viewer = await follow(parts, match_id)
    players = (await parts.match(match_id)).players
    assert [player.connected for player in viewer.snapshots[0].state.players] == [True] * 4
    await parts.lobby.vouch(players[2].agent_id, parts.id, connected=False)
    await parts.lobby.announce(players[2].agent_id, match_id, 2)
    await parts.lobby.announce(players[2].agent_id, match_id, 2)
    await parts.lobby.enter(players[2].agent_id, "x", parts.id)
    await parts.lobby.announce(players[2].agent_id, match_id, 2)
    await viewer.see_presence(2, True)
    assert viewer.presence == [(2, False), (2, True)]


async def test_who_came_or_went_while_the_feed_was_broken_is_seen_after(
    make_parts: MakeParts,
) -> None:
    here, there = make_parts(), make_parts()
    match_id = await here.seat()
    await here.listen()
    viewer = await follow(here, match_id)
    gone = (await here.match(match_id)).players[1].agent_id
    await there.cut_feed(
        here,
        there.lobby.vouch(gone, here.id, connected=False),
        there.lobby.announce(gone, match_id, 1),
    )
    await viewer.see_presence(1, False)


async def open_while(parts: Parts, match_id: MatchId, at: int, event: Awaitable[object]) -> Table:
    """Open a table, and let something happen after so many of the round trips that it takes.

    Whoever makes it happen is connected already, or it would come too late.
    """
    before = parts.link.round_trips
    opening = asyncio.create_task(parts.relay.open(match_id))
    await until(lambda: opening.done() or parts.link.round_trips >= before + at)
    await event
    table = await opening
    assert table is not None
    return table


@pytest.mark.parametrize("at", range(5))
async def test_who_goes_while_a_table_is_opened_is_seen_to_have_gone(
    make_parts: MakeParts, at: int
) -> None:
    here, there = make_parts(), make_parts()
    match_id = await here.seat()
    await here.listen()
    gone = (await there.match(match_id)).players[1].agent_id

    async def go() -> None:
        await there.lobby.vouch(gone, here.id, connected=False)
        await there.lobby.announce(gone, match_id, 1)

    table = await open_while(here, match_id, at, go())
    viewer = Viewer()
    await here.relay.follow(table, viewer, None)
    if viewer.snapshots[0].state.players[1].connected:
        await viewer.see_presence(1, False)


@pytest.mark.parametrize("at", range(5))
async def test_what_is_committed_while_a_table_is_opened_is_not_missed(
    make_parts: MakeParts, at: int
) -> None:
    """Nothing comes after it that would show that it is missing."""
    here, there = make_parts(), make_parts()
    match = await create(there.tables)
    await here.listen()
    table = await open_while(here, match.match_id, at, there.tables.commit(*placed(match)))
    viewer = Viewer()
    await here.relay.follow(table, viewer, 0)
    await viewer.see(match.seq + 2)
    assert viewer.seqs == list(range(1, match.seq + 3))


# ---- Tables that nobody needs


async def channels(parts: Parts, match_ids: Sequence[MatchId]) -> list[int]:
    """Count the subscribers of tables' channels."""
    names = [parts.keys.feed(match_id) for match_id in match_ids]
    counts: list[int] = (await parts.link.call("PUBSUB", "NUMSUB", *names))[1::2]
    return counts


async def wait_until_left(parts: Parts, match_id: MatchId) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await channels(parts, [match_id]) != [0]:
            pass


async def test_a_table_without_followers_is_left_at_the_second_look(parts: Parts) -> None:
    match = await create(parts.tables)
    await parts.listen()
    await parts.relay.open(match.match_id)
    await parts.relay.tidy()
    assert parts.relay.copy(match.match_id) == copy_of(match)
    await parts.relay.tidy()
    assert parts.relay.copy(match.match_id) is None
    await wait_until_left(parts, match.match_id)


async def test_a_table_with_a_follower_is_kept(parts: Parts) -> None:
    match = await create(parts.tables)
    await parts.listen()
    viewer = await follow(parts, match.match_id, 0)
    for _ in range(3):
        await parts.relay.tidy()
    newer = await place(parts.tables, match)
    await viewer.see(newer.seq)


async def test_a_table_that_somebody_has_come_for_is_not_left(parts: Parts) -> None:
    """Between opening a table and following it a socket reads the log."""
    match = await create(parts.tables)
    await parts.listen()
    await parts.relay.open(match.match_id)
    await parts.relay.tidy()
    table = await parts.relay.open(match.match_id)
    assert table is not None
    await parts.relay.tidy()
    viewer = Viewer()
    await parts.relay.follow(table, viewer, 0)
    newer = await place(parts.tables, match)
    await viewer.see(newer.seq)


async def test_a_table_that_is_left_and_opened_at_once_is_followed(parts: Parts) -> None:
    matches = [await create(parts.tables) for _ in range(5)]
    await parts.listen()
    for match in matches:
        await parts.relay.open(match.match_id)
    await parts.relay.tidy()
    _, *viewers = await asyncio.gather(
        parts.relay.tidy(), *(follow(parts, match.match_id, 0) for match in matches)
    )
    for match, viewer in zip(matches, viewers, strict=True):
        assert isinstance(viewer, Viewer)
        newer = await place(parts.tables, match)
        await viewer.see(newer.seq)
    assert await channels(parts, [match.match_id for match in matches]) == [1] * 5


async def test_a_finished_match_is_left(parts: Parts) -> None:
    match_id = (await create(parts.tables)).match_id
    await parts.listen()
    viewer = await follow(parts, match_id, 0)
    await parts.play_out(match_id)
    await viewer.end()
    await parts.relay.tidy()
    await parts.relay.tidy()
    await wait_until_left(parts, match_id)


async def test_a_dead_hubs_agents_are_seen_to_be_gone(parts: Parts) -> None:
    match_id = await parts.seat()
    await parts.listen()
    viewer = await follow(parts, match_id)
    for player in (await parts.match(match_id)).players[1:]:
        await parts.link.call("DEL", parts.keys.presence(player.agent_id))  # as a lease's end does
    await parts.relay.check_presence(0)
    await parts.relay.check_presence(0)
    assert viewer.presence == [(1, False), (2, False), (3, False)]
