"""socketify (uWebSockets): its publish to all that are subscribed to a topic."""
# What this imports is installed in a scratch folder only.
# mypy: ignore-errors

import asyncio
import socket
import sys
from typing import Any

from socketify import App, OpCode

_app = App()


def _opened(ws: Any) -> None:
    ws.subscribe("table")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


async def _obey() -> None:
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        _, moves, size = line.split()
        message = bytes(int(size))
        for _ in range(int(moves)):
            _app.publish("table", message, OpCode.BINARY)
            await asyncio.sleep(0)
        print("done", flush=True)


_port = _free_port()
_app.ws("/*", {"open": _opened, "compression": 0, "idle_timeout": 960})
_app.listen({"port": _port, "host": "127.0.0.1"}, lambda _config: print(_port, flush=True))
_app.loop.loop.create_task(_obey())
_app.run()
