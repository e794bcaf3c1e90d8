from hub.store.history import History, Page
from hub.store.keys import Keys
from hub.store.link import Link
from protocol.messages import MatchId

SERIALS = range(1, 8)
IDS = [MatchId(f"m{serial}") for serial in SERIALS]


async def fill(link: Link, keys: Keys, *, live: set[int], of_ann: set[int]) -> History:
    """List seven matches, m1 the oldest; some of them are under way, some are Ann's."""
    for serial, match_id in zip(SERIALS, IDS, strict=True):
        await link.call("ZADD", keys.index, serial, match_id)
        if serial in live:
            await link.call("SADD", keys.live, match_id)
        else:
            await link.call("ZADD", keys.finished, serial, match_id)
        if serial in of_ann:
            await link.call("ZADD", keys.matches_of_agent("ann"), serial, match_id)
    return History(link, keys)


async def test_pages_follow_one_another_newest_first(link: Link, keys: Keys) -> None:
    history = await fill(link, keys, live=set(), of_ann=set())
    first = await history.page(limit=3)
    second = await history.page(limit=3, before=first.next)
    third = await history.page(limit=3, before=second.next)
    assert first == Page((IDS[6], IDS[5], IDS[4]), 5)
    assert second == Page((IDS[3], IDS[2], IDS[1]), 2)
    assert third == Page((IDS[0],), None)


async def test_a_page_that_ends_the_list_says_so(link: Link, keys: Keys) -> None:
    history = await fill(link, keys, live=set(), of_ann=set())
    assert (await history.page(limit=7)).next is None


async def test_status_selects(link: Link, keys: Keys) -> None:
    history = await fill(link, keys, live={2, 5, 7}, of_ann=set())
    assert await history.page(status="playing", limit=2) == Page((IDS[6], IDS[4]), 5)
    assert await history.page(status="playing", limit=2, before=5) == Page((IDS[1],), None)
    assert await history.page(status="finished", limit=3) == Page((IDS[5], IDS[3], IDS[2]), 3)


async def test_an_agent_selects_alone_and_with_a_status(link: Link, keys: Keys) -> None:
    history = await fill(link, keys, live={5, 7}, of_ann={1, 3, 5})
    assert await history.page(agent_id="ann", limit=9) == Page((IDS[4], IDS[2], IDS[0]), None)
    playing = await history.page(agent_id="ann", status="playing", limit=9)
    finished = await history.page(agent_id="ann", status="finished", limit=1)
    assert playing == Page((IDS[4],), None)
    assert finished == Page((IDS[2],), 3)
    assert await history.page(agent_id="bob", limit=9) == Page((), None)
