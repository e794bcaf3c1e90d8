"""Loops that go on without the store end when they are cancelled, whatever happens just then."""

import asyncio
from pathlib import Path

import pytest

from hub.store.link import Link, StoreUnavailable, store_permitting
from tests.clients import HANG_SECONDS

MOMENTS = 40  # turns of the loop; a failed attempt takes fewer


async def try_on(link: Link) -> None:
    """Ask for several things at once, some in more steps than others, until cancelled."""

    async def ask() -> None:
        await link.call("PING")

    async def ask_twice() -> None:
        await asyncio.gather(link.call("PING"), link.call("PING"))

    while True:
        with store_permitting():
            await asyncio.gather(ask(), ask_twice())
        await asyncio.sleep(0)


@pytest.mark.parametrize("moment", range(MOMENTS))
async def test_a_loop_that_is_cancelled_as_the_store_fails_ends(
    tmp_path: Path, moment: int
) -> None:
    link = Link(f"unix://{tmp_path}/nothing")
    task = asyncio.create_task(try_on(link))
    for _ in range(moment):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task], timeout=HANG_SECONDS)
    assert task.cancelled()


async def test_a_closed_link_answers_nobody_and_at_once(redis_url: str) -> None:
    link = Link(redis_url)
    await link.call("PING")
    await link.close()
    with pytest.raises(StoreUnavailable):
        await link.call("PING")
