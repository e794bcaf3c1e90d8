"""Run an ASGI application in uvicorn and obey the bench: prints the port, then answers commands."""
# What this imports is installed in a scratch folder only.
# mypy: ignore-errors

import asyncio
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn

Broadcast = Callable[[bytes], Awaitable[None]]


def run(app: Any, broadcast: Broadcast) -> None:
    """Serve `app`; "broadcast MOVES SIZE" on stdin sends so many messages of so many bytes."""
    asyncio.run(_serve(app, broadcast))


async def _serve(app: Any, broadcast: Broadcast) -> None:
    config = uvicorn.Config(
        app,
        log_level="critical",
        lifespan="off",
        ws_per_message_deflate=False,
        ws_ping_interval=None,
    )
    server = uvicorn.Server(config)
    listener = socket.create_server(("127.0.0.1", 0), backlog=config.backlog)
    serving = asyncio.create_task(server.serve([listener]))
    print(listener.getsockname()[1], flush=True)
    await _obey(broadcast)
    server.should_exit = True
    await serving


async def _obey(broadcast: Broadcast) -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        _, moves, size = line.split()
        message = bytes(int(size))
        for _ in range(int(moves)):
            await broadcast(message)
        print("done", flush=True)
