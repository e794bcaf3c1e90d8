"""Bare clients for tests: they show the wire as it is, message by message, as plain maps."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Literal, NamedTuple

import msgpack
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from hub.app import Hub
from hub.tokens import issue
from protocol.messages import JSON_SUBPROTOCOL, MSGPACK_SUBPROTOCOL

SECRET = b"a secret for tests, long enough for HS256"

HANG_SECONDS = 20  # no message takes this long; only a test that fails waits for it

AGENTS = ("ann", "bob", "cyd", "dee")

Format = Literal["msgpack", "json"]
Map = dict[str, Any]

SUBPROTOCOLS = {"msgpack": MSGPACK_SUBPROTOCOL, "json": JSON_SUBPROTOCOL}

_ids = itertools.count()


def token(agent_id: str, hours: float = 1) -> str:
    return issue(SECRET, agent_id, agent_id.title(), hours)


def bearer(agent_id: str, hours: float = 1) -> dict[str, str]:
    return {"Authorization": f"Bearer {token(agent_id, hours)}"}


def url(hub: Hub, path: str, scheme: str = "ws") -> str:
    host, port = hub.address
    return f"{scheme}://{host}:{port}{path}"


def fresh_id() -> str:
    return f"id-{next(_ids)}"


def pack(message: Any, format: Format) -> bytes | str:
    return json.dumps(message) if format == "json" else bytes(msgpack.packb(message))


def unpack(data: bytes | str) -> Map:
    message: Map = json.loads(data) if isinstance(data, str) else msgpack.unpackb(data)
    return message


def placement(roll: Map, **params: Any) -> Map:
    """Make the action that answers a roll: its first face, unless `params` say otherwise."""
    return {
        "type": "action",
        "match_id": roll["match_id"],
        "turn": roll["turn"],
        "action": "place",
        "params": {"face": roll["dice"][0], **params},
    }


def events(messages: Iterable[Map]) -> list[Map]:
    """Pick a match's events; whatever else a socket hears has no `ts`."""
    return [message for message in messages if "ts" in message]


class Socket:
    """A WebSocket that speaks maps; `heard` keeps everything that came, `raw` as it came."""

    def __init__(self, connection: ClientConnection, format: Format, agent_id: str = "") -> None:
        self.connection = connection
        self.format: Format = format
        self.agent_id = agent_id
        self.heard: list[Map] = []
        self.raw: list[bytes | str] = []

    async def send(self, **message: Any) -> None:
        await self.connection.send(pack(message, self.format))

    async def receive(self) -> Map:
        async with asyncio.timeout(HANG_SECONDS):
            data = await self.connection.recv()
        message = unpack(data)
        self.raw.append(data)
        self.heard.append(message)
        return message

    async def until(self, *types: str) -> Map:
        """Receive until a message of one of these types comes."""
        while True:
            message = await self.receive()
            if message["type"] in types:
                return message

    async def after(self, seq: int, *types: str) -> Map:
        """Return the first event after number `seq` of one of these types, when it has come."""
        while True:
            for event in self.events:
                if event["seq"] > seq and (event["type"] in types or not types):
                    return event
            await self.receive()

    async def ask(self, **message: Any) -> Map:
        """Send a command under an id and wait for the reply to it."""
        id = message.setdefault("id", fresh_id())
        await self.send(**message)
        while True:
            reply = await self.receive()
            if reply.get("id") == id:
                return reply

    async def place(self, roll: Map, **params: Any) -> Map:
        """Answer a roll by its first face, unless `params` say otherwise; the reply."""
        return await self.ask(**placement(roll, **params))

    async def rest(self) -> list[Map]:
        """Receive until the connection closes; everything that was ever heard."""
        try:
            while True:
                await self.receive()
        except ConnectionClosed:
            return self.heard

    async def end(self) -> tuple[Map, int | None]:
        """Receive until the connection closes; the last message and the close code."""
        return (await self.rest())[-1], self.connection.close_code

    def last(self, type: str) -> Map:
        """Return the last message of a type that was heard."""
        return next(message for message in reversed(self.heard) if message["type"] == type)

    @property
    def events(self) -> list[Map]:
        """The match events that were heard."""
        return events(self.heard)


@asynccontextmanager
async def dial(
    hub: Hub,
    path: str,
    *,
    format: Format = "msgpack",
    headers: dict[str, str] | None = None,
    **options: Any,
) -> AsyncIterator[Socket]:
    """Open a bare socket to a hub; `options` are those of websockets' connect."""
    async with connect(
        url(hub, path),
        subprotocols=[Subprotocol(SUBPROTOCOLS[format])],
        additional_headers=headers,
        compression=None,
        max_queue=None,  # else the client's close waits for what the test does not read
        **options,
    ) as connection:
        yield Socket(connection, format)


@asynccontextmanager
async def play(
    hub: Hub, agent_id: str, *, query: str = "", format: Format = "msgpack", **options: Any
) -> AsyncIterator[Socket]:
    """Open an agent's socket and take its welcome."""
    path = f"/play{query}"
    async with dial(hub, path, format=format, headers=bearer(agent_id), **options) as socket:
        socket.agent_id = agent_id
        assert (await socket.receive())["type"] == "welcome"
        yield socket


class Party:
    """Four agents at one table, their sockets by seat."""

    def __init__(self, sockets: Sequence[Socket]) -> None:
        started = sockets[0].last("match_started")
        by_id = {socket.agent_id: socket for socket in sockets}
        self.match_id: str = started["match_id"]
        self.sockets = [by_id[player["agent_id"]] for player in started["players"]]

    @property
    def roll(self) -> Map:
        """The latest roll that seat 0 has heard."""
        return self.sockets[0].last("roll")

    @property
    def current(self) -> Socket:
        """The socket of the seat whose turn it is, as far as seat 0 has heard."""
        return self.sockets[int(self.roll["seat"])]

    @property
    def others(self) -> list[Socket]:
        """The sockets of the other seats, from the next one on."""
        seat = int(self.roll["seat"])
        return [self.sockets[(seat + step) % 4] for step in (1, 2, 3)]

    async def turn(self, *, id: str | None = None, **params: Any) -> Map:
        """Let whose turn it is place; the ack, when all have heard the next roll or the end."""
        ack = await self.current.ask(**placement(self.roll, **params), id=id or fresh_id())
        for socket in self.sockets:
            await socket.after(ack["seq"], "roll", "match_finished")
        return ack

    async def hear(self, seq: int) -> None:
        """Wait until all have heard event `seq`."""
        for socket in self.sockets:
            await socket.after(seq - 1)

    async def play_out(self) -> list[Map]:
        """Play to the end; all events of the match, as seat 0 has heard them."""
        await asyncio.gather(*map(play_out, self.sockets))
        return self.sockets[0].events


async def play_out(socket: Socket) -> None:
    """Place the first face of each own roll until the match has finished."""
    message = socket.last("roll")
    players = socket.last("match_started")["players"]
    while message["type"] == "roll":
        if players[message["seat"]]["agent_id"] == socket.agent_id:
            await socket.send(**placement(message))
        message = await socket.until("roll", "match_finished")


@asynccontextmanager
async def seat_four(
    *hubs: Hub, agents: Sequence[str] = AGENTS, format: Format = "msgpack", **join: Any
) -> AsyncIterator[Party]:
    """Seat four agents, spread over the hubs, and wait until all have heard the first roll."""
    async with AsyncExitStack() as exits:
        sockets = [
            await exits.enter_async_context(play(hub, agent_id, format=format))
            for agent_id, hub in zip(agents, itertools.cycle(hubs), strict=False)
        ]
        await asyncio.gather(*(socket.ask(type="join", **join) for socket in sockets))
        for socket in sockets:
            if not any(message["type"] == "roll" for message in socket.heard):
                await socket.until("roll")
        yield Party(sockets)


async def assert_untouched(party: Party) -> None:
    """Whose turn it is can place, and everyone has heard everything once, that included."""
    turn, seq = party.roll["turn"], party.roll["seq"]
    ack = await party.turn()
    assert (ack["type"], ack["turn"], ack["seq"]) == ("ack", turn, seq + 1)
    for socket in party.sockets:
        assert [event["seq"] for event in socket.events] == list(range(1, seq + 3))


async def play_match(*hubs: Hub, **options: Any) -> list[Map]:
    """Play a whole match with four agents that leave after it; its events."""
    async with seat_four(*hubs, **options) as party:
        return await party.play_out()


async def balances(hub: Hub) -> list[int]:
    """Ask each of AGENTS for its HP, as its welcome says it."""
    found = []
    for agent_id in AGENTS:
        async with dial(hub, "/play", headers=bearer(agent_id)) as socket:
            found.append((await socket.receive())["hp"])
    return found


class Answer(NamedTuple):
    """An HTTP response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> tuple[int, str, str | None]:
        """The status, the error's code and the content type."""
        return self.status, self.json["error"]["code"], self.headers.get("content-type")


async def talk_http(hub: Hub, request: bytes) -> Answer:
    """Send bytes as they are and read the response to the end of the connection."""
    reader, writer = await asyncio.open_connection(*hub.address)
    try:
        writer.write(request)
        return await read_answer(reader)
    finally:
        writer.close()
        await writer.wait_closed()


async def read_answer(reader: asyncio.StreamReader) -> Answer:
    async with asyncio.timeout(HANG_SECONDS):
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    pairs = (line.split(": ", 1) for line in lines)
    return Answer(int(status.split()[1]), {name.lower(): value for name, value in pairs}, body)


async def fetch(
    hub: Hub, path: str, method: str = "GET", headers: Sequence[tuple[str, str]] = ()
) -> Answer:
    """Get a page."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {hub.address[0]}"]
    lines += [f"{name}: {value}" for name, value in headers]
    return await talk_http(hub, "\r\n".join([*lines, "", ""]).encode("latin-1"))


async def knock(hub: Hub, path: str, *headers: tuple[str, str]) -> Answer:
    """Ask for a WebSocket that the hub will refuse to open; what it says instead."""
    return await fetch(hub, path, headers=[*UPGRADE, *headers])


UPGRADE = (
    ("Connection", "Upgrade"),
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="),
)
