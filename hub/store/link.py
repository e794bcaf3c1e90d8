"""Carry commands to Redis: those of one turn of the event loop leave together as one pipeline.

    StoreUnavailable    the store did not answer: whether the command took effect is unknown

No caller ever holds a connection, so a cancelled caller can't leave half a reply behind for the
next one.
"""

import asyncio
import hashlib
import math
from collections.abc import Callable
from importlib import resources
from typing import Any

import structlog
from hiredis import pack_command
from redis.asyncio import ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, ResponseError

LANES = 4  # pipelines under way at once; what comes meanwhile waits and shares the next one
ANSWER_SECONDS = 5.0  # how long the store may take for one pipeline

_log = structlog.get_logger()

Argument = str | bytes | int


class StoreUnavailable(Exception):
    """The store did not answer; `reason` is what the client library said."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the shared store did not answer: {reason}")
        self.reason = reason


class Script:
    """A Lua script: its source, and the SHA-1 by which Redis knows it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.source = (resources.files("hub.store") / "scripts" / f"{name}.lua").read_bytes()
        self.sha = hashlib.sha1(self.source, usedforsecurity=False).hexdigest()


class _Call:
    """A command that waits for its reply."""

    __slots__ = ("command", "reply", "script")

    def __init__(
        self, command: tuple[Argument, ...], reply: asyncio.Future[Any], script: Script | None
    ) -> None:
        self.command = command
        self.reply = reply
        self.script = script


class Link:
    """One hub's commands to one Redis.

    `round_trips` counts the pipelines sent; `on_state` hears True and False as the store's
    answering begins and ends.
    """

    def __init__(
        self,
        url: str,
        on_state: Callable[[bool], None] = lambda up: None,
        *,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        self.url = url
        self.round_trips = 0
        self.up = False
        self._on_state = on_state
        self._answer_seconds = answer_seconds
        self._pool: Any = ConnectionPool.from_url(
            url,
            retry=Retry(NoBackoff(), 0),  # a repeat is the caller's to decide: see StoreUnavailable
            socket_timeout=None,  # _send limits the time of everything at once, and cheaper
            protocol=2,
        )
        self._idle: list[Any] = []  # connections that no lane uses now
        self._waiting: list[_Call] = []
        self._lanes: set[asyncio.Task[None]] = set()
        self._flush_scheduled = False

    def call(self, *command: Argument) -> asyncio.Future[Any]:
        """Run one command; its raw reply. Raises StoreUnavailable."""
        return self._enqueue(command, None)

    def run(self, script: Script, keys: list[str], *args: Argument) -> asyncio.Future[Any]:
        """Run a script; its raw reply. Raises StoreUnavailable."""
        return self._enqueue(("EVALSHA", script.sha, len(keys), *keys, *args), script)

    async def close(self) -> None:
        """Finish the commands under way and close every connection."""
        self._flush()
        while self._lanes:
            await asyncio.gather(*self._lanes)
        await self._disconnect(*self._idle)
        self._idle.clear()

    def _enqueue(self, command: tuple[Argument, ...], script: Script | None) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        call = _Call(command, loop.create_future(), script)
        self._waiting.append(call)
        if not self._flush_scheduled and len(self._lanes) < LANES:
            self._flush_scheduled = True
            loop.call_soon(self._flush)
        return call.reply

    def _flush(self) -> None:
        self._flush_scheduled = False
        if not self._waiting or len(self._lanes) >= LANES:
            return
        calls, self._waiting = self._waiting, []
        lane = asyncio.get_running_loop().create_task(self._send(calls))
        self._lanes.add(lane)
        lane.add_done_callback(self._free)

    def _free(self, lane: asyncio.Task[None]) -> None:
        self._lanes.discard(lane)
        self._flush()

    async def _send(self, calls: list[_Call]) -> None:
        connection = self._idle.pop() if self._idle else self._pool.make_connection()
        try:
            async with asyncio.timeout(self._answer_seconds):
                if not connection.is_connected:
                    await connection.connect()
                replies = await self._exchange(connection, [call.command for call in calls])
                await self._reload(connection, calls, replies)
        except Exception as error:  # whatever it is, no caller may wait for ever
            # What broke one connection has most likely broken the idle ones, too.
            broken, self._idle = [connection, *self._idle], []
            self._fail(calls, error)
            await self._disconnect(*broken)
            return
        self._idle.append(connection)
        self._set_up(True)
        for call, reply in zip(calls, replies, strict=True):
            _settle(call, reply)

    async def _exchange(self, connection: Any, commands: list[tuple[Argument, ...]]) -> list[Any]:
        """Send commands as one write and read their replies; a ResponseError is one, too."""
        self.round_trips += 1
        packed = b"".join(pack_command(each) for each in commands)  # type: ignore[arg-type]
        await connection.send_packed_command(packed, check_health=False)
        return [await self._read(connection) for _ in commands]

    async def _read(self, connection: Any) -> Any:
        try:
            return await connection.read_response(timeout=math.inf)  # _send limits the time
        except ResponseError as error:
            return error

    async def _reload(self, connection: Any, calls: list[_Call], replies: list[Any]) -> None:
        """Give Redis the scripts that it does not know (any more), and run those calls again."""
        lost = [at for at, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
        if not lost:
            return
        sources = {script.sha: script.source for at in lost if (script := calls[at].script)}
        await self._exchange(connection, [("SCRIPT", "LOAD", each) for each in sources.values()])
        again = await self._exchange(connection, [calls[at].command for at in lost])
        for at, reply in zip(lost, again, strict=True):
            replies[at] = reply

    async def _disconnect(self, *connections: Any) -> None:
        for connection in connections:
            await connection.disconnect(nowait=True)

    def _fail(self, calls: list[_Call], error: Exception) -> None:
        reason = str(error) or type(error).__name__
        self._set_up(False, reason)
        for call in calls:
            _settle(call, StoreUnavailable(reason))

    def _set_up(self, up: bool, reason: str = "") -> None:
        if up == self.up:
            return
        self.up = up
        if up:
            _log.info("store_answers")
        else:
            _log.warning("store_lost", reason=reason)
        self._on_state(up)


def _settle(call: _Call, reply: Any) -> None:
    if call.reply.done():  # the caller was cancelled
        return
    if isinstance(reply, ResponseError):
        # Our commands are right, so this is a store that can't take them: loading, read-only, full.
        name = call.script.name if call.script else call.command[0]
        _log.error("store_refused", command=name, reason=str(reply))
        reply = StoreUnavailable(str(reply))
    if isinstance(reply, StoreUnavailable):
        call.reply.set_exception(reply)
        call.reply.exception()  # nobody need be waiting for it, so asyncio is not to warn of that
    else:
        call.reply.set_result(reply)
