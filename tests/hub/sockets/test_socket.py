"""What goes past the transport stays in order with what goes through it, on either loop."""

import asyncio
import random
import socket
from collections.abc import Callable
from typing import cast

import pytest
import uvloop

from hub.sockets.connection import DirectSocket

WRITES = 3_000
WRITE_BYTES = 3_000
READ_BYTES = 8_000
NARROW_BYTES = 4096

both_loops = pytest.mark.parametrize(
    "make_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"]
)


class Accepted(asyncio.Protocol):
    """The server's end of the one connection."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.transport: asyncio.Future[asyncio.Transport] = loop.create_future()
        self.lost: asyncio.Future[None] = loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport.set_result(cast(asyncio.Transport, transport))

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set_result(None)


async def connect() -> tuple[Accepted, socket.socket]:
    """Connect a client whose kernel holds little for it."""
    loop = asyncio.get_running_loop()
    accepted = Accepted()
    server = await loop.create_server(lambda: accepted, "127.0.0.1", 0)
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, NARROW_BYTES)
    client.setblocking(False)
    await loop.sock_connect(client, server.sockets[0].getsockname())
    server.close()
    return accepted, client


@both_loops
def test_bytes_arrive_in_order_whatever_the_socket_takes(
    make_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def write_more_than_is_read() -> None:
        loop = asyncio.get_running_loop()
        accepted, client = await connect()
        transport = await accepted.transport
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
        direct, chance = DirectSocket(transport), random.Random(7)
        sent, got, ways = bytearray(), bytearray(), set()
        for _ in range(WRITES):
            data = chance.randbytes(chance.randrange(1, WRITE_BYTES))
            sent += data
            ways.add(direct.is_clear)
            if chance.random() < 0.1:  # the package has something to say
                transport.write(data)
                direct.look()
            else:
                direct.write(data)
            for _ in range(chance.randrange(3)):
                if len(got) < len(sent):
                    got += await loop.sock_recv(client, chance.randrange(1, READ_BYTES))
        transport.close()
        while data := await loop.sock_recv(client, READ_BYTES):
            got += data
        client.close()
        assert got == sent
        assert ways == {True, False}

    with asyncio.Runner(loop_factory=make_loop) as runner:
        runner.run(write_more_than_is_read())


@both_loops
def test_the_transport_finds_out_that_the_connection_is_broken(
    make_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def write_to_nobody() -> None:
        accepted, client = await connect()
        direct = DirectSocket(await accepted.transport)
        client.close()
        while not accepted.lost.done():
            direct.write(b"anyone?")
            await asyncio.sleep(0)

    with asyncio.Runner(loop_factory=make_loop) as runner:
        runner.run(write_to_nobody())
