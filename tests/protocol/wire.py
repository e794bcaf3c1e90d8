"""A way to a hub on which messages from the hub may change or get lost, and which may break."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from websockets.frames import Frame, Opcode

from hub.app import Hub

CHUNK_BYTES = 65536

Change = Callable[[bytes], list[bytes]]


def pass_on(message: bytes) -> list[bytes]:
    return [message]


def lose(message: bytes) -> list[bytes]:
    return []


def repeat(message: bytes) -> list[bytes]:
    return [message, message]


class Wire:
    """A TCP way to a hub; `change` gets each message from the hub and says what arrives instead."""

    def __init__(self, hub: Hub) -> None:
        self.url = ""
        self.change: Change = pass_on
        self.broken = False
        self.connections = 0
        self._address = hub.address
        self._writers: set[asyncio.StreamWriter] = set()

    def cut(self) -> None:
        """Break all connections, as a crash of either side does."""
        for writer in self._writers:
            writer.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect a client to the hub."""
        if self.broken:
            writer.transport.abort()
            return
        self.connections += 1
        hub_reader, hub_writer = await asyncio.open_connection(*self._address)
        ends = {writer, hub_writer}
        self._writers |= ends
        await asyncio.gather(_copy(reader, hub_writer), self._carry(hub_reader, writer))
        self._writers -= ends

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            writer.write(head)
            while head.startswith(b"HTTP/1.1 101"):
                opcode, payload = await _read_frame(reader)
                is_message = opcode in {Opcode.TEXT, Opcode.BINARY}
                for each in self.change(payload) if is_message else [payload]:
                    writer.write(Frame(opcode, each).serialize(mask=False))
        await _copy(reader, writer)


async def _read_frame(reader: asyncio.StreamReader) -> tuple[Opcode, bytes]:
    """Read one frame, whole and unmasked, as hubs send them (RFC 6455, 5.2)."""
    first, length = await reader.readexactly(2)
    if length > 125:
        length = int.from_bytes(await reader.readexactly(2 if length == 126 else 8))
    return Opcode(first & 0x0F), await reader.readexactly(length)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(CHUNK_BYTES):
            writer.write(data)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def wired(hub: Hub) -> AsyncIterator[Wire]:
    """Open a way to a hub."""
    wire = Wire(hub)
    async with await asyncio.start_server(wire.serve, "127.0.0.1", 0) as server:
        wire.url = "ws://{}:{}".format(*server.sockets[0].getsockname())
        yield wire
        wire.cut()
