import asyncio

from hub.app import Hub
from hub.lobby.retention import Archivist
from hub.settings import Settings
from hub.store.history import History, Page
from hub.store.keys import Keys
from hub.store.link import Link
from protocol.messages import MatchId
from tests.clients import play_match, seat_four
from tests.conftest import MakeHub


async def finished(make_hub: MakeHub, count: int) -> tuple[Hub, History, list[MatchId]]:
    """Play matches to their end; the hub, its history and the matches, newest first."""
    hub = await make_hub()
    match_ids: list[MatchId] = []
    for _ in range(count):
        events = await play_match(hub)
        match_ids.insert(0, MatchId(events[0]["match_id"]))
        await asyncio.gather(hub.clock.book(match_ids[0]))
    return hub, History(hub.link, Keys(hub.settings.prefix, hub.settings.slots)), match_ids


async def test_matches_beyond_the_number_go_oldest_first(make_hub: MakeHub) -> None:
    hub, history, match_ids = await finished(make_hub, 3)
    archivist = Archivist(history, hub.tables, Settings(keep_matches=2))
    assert await archivist.prune() == 1
    assert await archivist.prune() == 0
    assert await history.page(limit=10) == Page(tuple(match_ids[:2]), None)
    assert await hub.tables.load(match_ids[2]) is None
    assert await hub.tables.log(match_ids[2], 1) == []


async def test_matches_that_ended_long_ago_go(make_hub: MakeHub) -> None:
    hub, history, _ = await finished(make_hub, 2)
    assert await Archivist(history, hub.tables, Settings(keep_days=1)).prune() == 0
    assert await Archivist(history, hub.tables, Settings(keep_days=-1)).prune() == 2
    assert await history.page(limit=10) == Page((), None)


async def test_nothing_of_a_forgotten_match_is_left(make_hub: MakeHub, link: Link) -> None:
    hub, history, (match_id,) = await finished(make_hub, 1)
    await Archivist(history, hub.tables, Settings(keep_matches=0)).prune()
    assert await link.call("KEYS", f"{hub.settings.prefix}*{match_id}*") == []
    keys = Keys(hub.settings.prefix, hub.settings.slots)
    assert await link.call("HEXISTS", keys.rows, match_id) == 0
    assert await link.call("KEYS", keys.matches_of_agent("*")) == []


async def test_a_live_match_stays(make_hub: MakeHub) -> None:
    hub, history, _ = await finished(make_hub, 0)
    async with seat_four(hub) as table:
        assert await Archivist(history, hub.tables, Settings(keep_matches=0)).prune() == 0
        live = MatchId(table.roll["match_id"])
        assert await history.page(status="playing", limit=10) == Page((live,), None)
