"""Bare clients for tests: they show the wire as it is, message by message, as plain maps."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import msgpack
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from hub.app import Hub
from hub.tokens import issue
from protocol.messages import JSON_SUBPROTOCOL, MSGPACK_SUBPROTOCOL

SECRET = b"a secret for tests, long enough for HS256"

Format = Literal["msgpack", "json"]
Map = dict[str, Any]

SUBPROTOCOLS = {"msgpack": MSGPACK_SUBPROTOCOL, "json": JSON_SUBPROTOCOL}


def token(agent_id: str, hours: float = 1) -> str:
    return issue(SECRET, agent_id, agent_id.title(), hours)


def bearer(agent_id: str, hours: float = 1) -> dict[str, str]:
    return {"Authorization": f"Bearer {token(agent_id, hours)}"}


def url(hub: Hub, path: str, scheme: str = "ws") -> str:
    host, port = hub.address
    return f"{scheme}://{host}:{port}{path}"


class Socket:
    """A WebSocket that speaks maps; `heard` keeps everything that came."""

    def __init__(self, connection: ClientConnection, format: Format) -> None:
        self.connection = connection
        self.format = format
        self.heard: list[Map] = []

    async def send(self, **message: Any) -> None:
        if self.format == "json":
            await self.connection.send(json.dumps(message))
        else:
            await self.connection.send(msgpack.packb(message))

    async def receive(self) -> Map:
        data = await self.connection.recv()
        message: Map = json.loads(data) if isinstance(data, str) else msgpack.unpackb(data)
        self.heard.append(message)
        return message

    async def until(self, *types: str) -> Map:
        """Receive until a message of one of these types comes."""
        while True:
            message = await self.receive()
            if message["type"] in types:
                return message

    async def ask(self, **message: Any) -> Map:
        """Send a command under an id and wait for the reply to it."""
        id = message.setdefault("id", f"ask-{len(self.heard)}")
        await self.send(**message)
        while True:
            reply = await self.receive()
            if reply.get("id") == id:
                return reply

    async def rest(self) -> list[Map]:
        """Receive until the connection closes."""
        async for data in self.connection:
            self.heard.append(json.loads(data) if isinstance(data, str) else msgpack.unpackb(data))
        return self.heard


@asynccontextmanager
async def dial(
    hub: Hub, path: str, *, format: Format = "msgpack", headers: dict[str, str] | None = None
) -> AsyncIterator[Socket]:
    """Open a bare socket to a hub."""
    async with connect(
        url(hub, path),
        subprotocols=[Subprotocol(SUBPROTOCOLS[format])],
        additional_headers=headers,
        compression=None,
    ) as connection:
        yield Socket(connection, format)


@asynccontextmanager
async def play(
    hub: Hub, agent_id: str, *, query: str = "", format: Format = "msgpack"
) -> AsyncIterator[Socket]:
    """Open an agent's socket and take its welcome."""
    async with dial(hub, f"/play{query}", format=format, headers=bearer(agent_id)) as socket:
        assert (await socket.receive())["type"] == "welcome"
        yield socket
