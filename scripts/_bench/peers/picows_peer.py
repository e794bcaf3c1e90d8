"""picows with uvloop: a listener for each socket, and a loop of sends."""
# What this imports is installed in a scratch folder only.
# mypy: ignore-errors

import asyncio
import sys

import uvloop
from picows import WSFrame, WSListener, WSMsgType, WSTransport, WSUpgradeRequest, ws_create_server

_sockets: set[WSTransport] = set()


class _Watch(WSListener):
    def on_ws_connected(self, transport: WSTransport) -> None:
        _sockets.add(transport)

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        pass

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        _sockets.discard(transport)


def _make(_request: WSUpgradeRequest) -> _Watch:
    return _Watch()


async def _main() -> None:
    server = await ws_create_server(_make, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        _, moves, size = line.split()
        message = bytes(int(size))
        for _ in range(int(moves)):
            for socket in _sockets:
                socket.send(WSMsgType.BINARY, message)
            await asyncio.sleep(0)
        print("done", flush=True)


uvloop.run(_main())
