import pytest

from hub.store.keys import Keys
from hub.store.link import Link
from hub.store.tables import Tables
from tests.clients import dial, seat_four
from tests.conftest import MakeHub


@pytest.fixture
def tables(link: Link, keys: Keys) -> Tables:
    return Tables(link, keys)


async def test_the_spectators_of_all_hubs_are_counted_together(make_hub: MakeHub) -> None:
    one, other = await make_hub(), await make_hub()
    async with seat_four(one) as party, dial(one, f"/watch/{party.match_id}") as first:
        assert (await first.until("crowd"))["spectators"] == 1
        async with dial(other, f"/watch/{party.match_id}") as second:
            assert (await second.until("crowd"))["spectators"] == 2
            assert (await first.until("crowd"))["spectators"] == 2
        assert (await first.until("crowd"))["spectators"] == 1


async def test_a_snapshot_says_how_many_watch(make_hub: MakeHub) -> None:
    hub = await make_hub()
    async with seat_four(hub) as party, dial(hub, f"/watch/{party.match_id}") as first:
        assert (await first.until("snapshot"))["spectators"] == 0
        await first.until("crowd")
        async with dial(hub, f"/watch/{party.match_id}") as second:
            assert (await second.until("snapshot"))["spectators"] == 1


async def test_a_dead_hubs_spectators_are_forgotten(tables: Tables, link: Link, keys: Keys) -> None:
    await tables.count_crowd("m", "dead", 5)
    await link.call("HSET", keys.crowd("m"), "dead", "5 1")  # what it said has expired
    assert await tables.count_crowd("m", "alive", 2) == 2
    assert await tables.crowds(["m", "unknown"]) == [2, 0]


async def test_only_a_changed_total_is_published(tables: Tables, link: Link) -> None:
    assert await tables.count_crowd("m", "hub", 3) == 3
    before = await link.call("INFO", "commandstats")
    assert await tables.count_crowd("m", "hub", 3) == 3
    after = await link.call("INFO", "commandstats")
    assert published(after) == published(before)


def published(commandstats: bytes) -> bytes:
    lines = commandstats.split(b"\r\n")
    return next((line.split(b",")[0] for line in lines if b"cmdstat_publish:" in line), b"")
