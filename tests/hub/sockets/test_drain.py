"""A hub that stops, as its clients see it (PROTOCOL.md, Errors and closing)."""

import asyncio

from tests.clients import (
    UPGRADE,
    bearer,
    dial,
    play,
    read_answer,
    seat_four,
)
from tests.conftest import MakeHub

JSON = "application/json"


async def test_a_stopping_hub_says_bye_and_spreads_the_return(make_hub: MakeHub) -> None:
    hub = await make_hub()
    async with seat_four(hub) as party, dial(hub, "/watch") as spectator:
        await spectator.receive()
        sockets = [*party.sockets, spectator]
        stopping = asyncio.create_task(hub.stop())
        ends = [await socket.end() for socket in sockets]
        await stopping
        for bye, close_code in ends:
            expected = {"code": 1001, "reason": "the hub is stopping", "reconnect": True}
            assert {**bye, "retry_ms": 0} == {"type": "bye", **expected, "retry_ms": 0}
            assert close_code == 1001
        assert len({bye["retry_ms"] for bye, _ in ends}) > 1


async def test_a_stopping_hub_opens_no_more_connections(make_hub: MakeHub) -> None:
    hub = await make_hub()
    reader, writer = await asyncio.open_connection(*hub.address)
    # The connection is accepted: one that came after it has been.
    async with play(hub, "ann") as ann:
        stopping = asyncio.create_task(hub.stop())
        await ann.until("bye")
        headers = [f"{name}: {value}" for name, value in (*UPGRADE, *bearer("bob").items())]
        writer.write("\r\n".join(["GET /play HTTP/1.1", *headers, "", ""]).encode())
        assert (await read_answer(reader)).error == (503, "draining", JSON)
        writer.close()
        await stopping


async def test_a_stopping_hub_waits_for_nobody_for_ever(make_hub: MakeHub) -> None:
    hub = await make_hub(drain_seconds=0.1)
    _, writer = await asyncio.open_connection(*hub.address)
    async with play(hub, "ann") as ann:
        ann.connection.transport.pause_reading()
        await hub.stop()
        ann.connection.transport.resume_reading()
    writer.close()
