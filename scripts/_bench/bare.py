"""Serve WebSockets with the bare `websockets` package: what the hub is compared with.

Prints its port. Every message is echoed. Commands on stdin, each answered by "done":

    write MOVES SIZE       MOVES times one joined, finished frame straight to each transport
    broadcast MOVES SIZE   MOVES times three messages by broadcast()
    tables MOVES SIZE      MOVES times one message by send() to each socket
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress

import uvloop
from websockets.asyncio.server import ServerConnection, broadcast, serve
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode

EVENTS = 3  # in one move
SEATS = 4  # at one table
FRAME_HEADER_BYTES = 4  # of a message of 126 bytes to 64 KiB

_open: dict[ServerConnection, None] = {}


async def _handle(connection: ServerConnection) -> None:
    _open[connection] = None
    with suppress(ConnectionClosed):
        async for message in connection:
            await connection.send(message)
    del _open[connection]


async def _write(moves: int, size: int) -> None:
    frame = Frame(Opcode.BINARY, bytes(size - FRAME_HEADER_BYTES)).serialize(mask=False)
    for _ in range(moves):
        for connection in _open:
            connection.transport.write(frame)
        await asyncio.sleep(0)


async def _broadcast(moves: int, size: int) -> None:
    message = bytes(size // EVENTS - FRAME_HEADER_BYTES)
    for _ in range(moves):
        for _ in range(EVENTS):
            broadcast(_open, message)
        await asyncio.sleep(0)


async def _tables(moves: int, size: int) -> None:
    message = bytes(size - FRAME_HEADER_BYTES)
    for _ in range(moves):
        for number, connection in enumerate(_open):
            await connection.send(message)
            if number % SEATS == 0:
                await asyncio.sleep(0)


_COMMANDS: dict[str, Callable[[int, int], Awaitable[None]]] = {
    "write": _write,
    "broadcast": _broadcast,
    "tables": _tables,
}


async def _obey() -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        name, moves, size = line.decode().split()
        await _COMMANDS[name](int(moves), int(size))
        print("done", flush=True)


async def _main() -> None:
    async with serve(_handle, "127.0.0.1", 0, compression=None, ping_interval=None) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await _obey()


if __name__ == "__main__":
    uvloop.run(_main())
