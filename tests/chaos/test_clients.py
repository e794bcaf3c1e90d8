"""Clients that are given up at awkward moments leave nothing behind."""

import asyncio

from websockets.asyncio.server import ServerConnection, serve
from websockets.typing import Subprotocol

from protocol.client import watch
from protocol.client.stream import KEEPALIVE_S
from protocol.codec import encode
from protocol.messages import MSGPACK_SUBPROTOCOL, MatchId, TableTalk

MORE_THAN_A_CLIENT_READS_AHEAD = 100


def event(seq: int) -> TableTalk:
    return TableTalk(match_id=MatchId("m"), seq=seq, ts=1, round=1, turn=1, seat=0, message="")


async def test_a_spectator_that_is_cancelled_while_it_leaves_has_left() -> None:
    gone = asyncio.Event()

    async def tell_much(connection: ServerConnection) -> None:
        for seq in range(1, MORE_THAN_A_CLIENT_READS_AHEAD):
            await connection.send(encode(event(seq), "msgpack"))
        await connection.wait_closed()
        gone.set()

    async with serve(
        tell_much,
        "127.0.0.1",
        0,
        subprotocols=[Subprotocol(MSGPACK_SUBPROTOCOL)],
        ping_interval=None,  # it is for the client to close the connection
        close_timeout=None,
    ) as server:
        host, port = server.sockets[0].getsockname()
        stream = watch(f"ws://{host}:{port}", "m", after=0)
        await anext(stream)
        leaving = asyncio.ensure_future(stream.aclose())
        await asyncio.wait([leaving], timeout=0)
        leaving.cancel()
        await asyncio.wait([leaving])
        async with asyncio.timeout(KEEPALIVE_S / 2):  # which would end the connection at last
            await gone.wait()
