"""python-socketio on uvicorn, its events through a Redis manager where a URL is given."""
# What this imports is installed in a scratch folder only.
# mypy: ignore-errors

import sys

import socketio
from asgi import run

_manager = socketio.AsyncRedisManager(sys.argv[1])
_server = socketio.AsyncServer(
    async_mode="asgi", client_manager=_manager, transports=["websocket"], cors_allowed_origins=[]
)


async def _broadcast(message: bytes) -> None:
    await _server.emit("move", "x" * len(message))


run(socketio.ASGIApp(_server), _broadcast)
