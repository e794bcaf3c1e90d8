"""Commands that come at any moment of the work on the one before."""

import asyncio

from hub.app import Hub
from tests.clients import Format, play

MOMENTS = 60  # turns of the loop between two commands; the first takes about half as many


async def test_a_command_is_answered_whenever_it_comes(hub: Hub, format: Format) -> None:
    async with play(hub, "ann", format=format) as socket:
        for moment in range(MOMENTS):
            await socket.send(type="sync", id=f"first {moment}")
            for _ in range(moment):
                await asyncio.sleep(0)
            await socket.send(type="sync", id=f"second {moment}")
            replies = [await socket.until("error"), await socket.until("error")]
            assert [reply["id"] for reply in replies] == [f"first {moment}", f"second {moment}"]
