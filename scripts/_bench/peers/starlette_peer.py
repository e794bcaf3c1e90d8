"""Starlette on uvicorn with uvloop: a WebSocket endpoint, and a loop of sends."""
# What this imports is installed in a scratch folder only.
# mypy: ignore-errors

import asyncio

from asgi import run
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

_sockets: set[WebSocket] = set()


async def _watch(socket: WebSocket) -> None:
    await socket.accept()
    _sockets.add(socket)
    try:
        await socket.receive()
    except WebSocketDisconnect:
        pass
    finally:
        _sockets.discard(socket)


async def _broadcast(message: bytes) -> None:
    await asyncio.gather(*(socket.send_bytes(message) for socket in _sockets))


run(Starlette(routes=[WebSocketRoute("/", _watch)]), _broadcast)
