"""Carry commands to Redis: those of one turn of the event loop leave together as one write.

    StoreUnavailable    the store did not answer: whether the command took effect is unknown

No caller ever holds the connection, so a cancelled caller can't leave half a reply behind for the
next one.
"""

import asyncio
import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from typing import Any

import structlog
from redis.exceptions import ResponseError

from .wire import Argument, Command, Wire, Wires, pack_command

ANSWER_SECONDS = 5.0  # how long the store may take to answer

# What the errors of a server begin with that is there but serves nobody, or nobody who writes.
NOT_SERVING = ("LOADING", "MASTERDOWN", "CLUSTERDOWN", "READONLY", "OOM", "MISCONF", "BUSY")

_log = structlog.get_logger()


class StoreUnavailable(Exception):
    """The store did not answer; `reason` is what is known of why."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the shared store did not answer: {reason}")
        self.reason = reason


@contextmanager
def store_permitting() -> Iterator[None]:
    """Do as much of a block as the store answers; leave the rest.

    asyncio.gather hides that its task is cancelled if a part of it fails at the same moment. So a
    cancelled task does not go on here, or it would never end.
    """
    try:
        yield
    except StoreUnavailable:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError from None


class Script:
    """A Lua script: its source, and the SHA-1 by which Redis knows it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.source = (resources.files("hub.store") / "scripts" / f"{name}.lua").read_bytes()
        self.sha = hashlib.sha1(self.source, usedforsecurity=False).hexdigest()


class _Call:
    """A command, packed, that waits for its reply."""

    __slots__ = ("name", "packed", "reply", "script", "sent_at")

    def __init__(
        self, name: Argument, packed: bytes, reply: asyncio.Future[Any], script: Script | None
    ) -> None:
        self.name = name
        self.packed = packed
        self.reply = reply
        self.script = script
        self.sent_at = 0.0


class Link:
    """One hub's commands to one Redis, over one connection that is made when it is needed.

    `round_trips` counts the writes; `on_state` hears True and False as the store's answering
    begins and ends.
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
        self._wires = Wires(url, answer_seconds)
        self._wire: Wire | None = None
        self._waiting: list[_Call] = []
        self._sent: deque[_Call] = deque()
        self._is_closed = False
        self._busy = False  # a flush is scheduled, or a connection is being made
        self._connecting: asyncio.Task[None] | None = None
        self._watch: asyncio.TimerHandle | None = None

    def call(self, *command: Argument) -> asyncio.Future[Any]:
        """Run one command; its raw reply. Raises StoreUnavailable."""
        return self._enqueue(command, None)

    def run(self, script: Script, keys: Sequence[str], *args: Argument) -> asyncio.Future[Any]:
        """Run a script; its raw reply. Raises StoreUnavailable."""
        return self._enqueue(("EVALSHA", script.sha, len(keys), *keys, *args), script)

    async def close(self) -> None:
        """Finish the commands under way and close the connection; later ones fail at once."""
        while self._waiting or self._sent:
            await asyncio.wait([call.reply for call in (*self._sent, *self._waiting)])
            await asyncio.sleep(0)
        self._is_closed = True
        if self._watch is not None:
            self._watch.cancel()
        if self._wire is not None:
            self._wire.close()
            await asyncio.sleep(0)  # for the transport to close

    def _enqueue(self, command: Command, script: Script | None) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        try:
            packed, reason = pack_command(command), ""  # type: ignore[arg-type]
        except (TypeError, ValueError) as error:
            packed, reason = b"", str(error)
        name = command[0] if script is None else script.name
        call = _Call(name, packed, loop.create_future(), script)
        if self._is_closed:
            reason = "the hub has left it"
        if reason:
            _settle(call, StoreUnavailable(reason))
            return call.reply
        self._waiting.append(call)
        if not self._busy:
            self._busy = True
            loop.call_soon(self._flush)
        return call.reply

    def _flush(self) -> None:
        if self._wire is None:
            self._connecting = asyncio.create_task(self._connect())
            return
        self._busy = False
        calls, self._waiting = self._waiting, []
        try:
            self._wire.send([call.packed for call in calls])
        except (OSError, RuntimeError) as error:
            self._fail(calls, str(error))
            return
        self.round_trips += 1
        now = asyncio.get_running_loop().time()
        for call in calls:
            call.sent_at = now
        self._sent.extend(calls)
        if self._watch is None:
            self._watch_until(now + self._answer_seconds)

    async def _connect(self) -> None:
        try:
            self._wire = await self._wires.open(self._hear, self._lose)
        except Exception as error:  # whatever it is, no caller may wait for ever
            self._busy = False
            calls, self._waiting = self._waiting, []
            self._lose(str(error) or type(error).__name__)
            self._fail(calls, str(error) or type(error).__name__)
            return
        self._flush()

    def _hear(self, reply: Any) -> None:
        call = self._sent.popleft()
        if isinstance(reply, ResponseError):
            self._hear_refusal(call, str(reply))
            return
        self._set_up(True)
        _settle(call, reply)

    def _hear_refusal(self, call: _Call, reason: str) -> None:
        if reason.startswith("NOSCRIPT") and call.script is not None:
            script, call.script = call.script, None  # so that this is tried once
            self._run_unknown(call, script)
            return
        if reason.startswith(NOT_SERVING):
            self._set_up(False, reason)
        else:
            _log.error("store_refused", command=call.name, reason=reason)
        _settle(call, StoreUnavailable(reason))

    def _run_unknown(self, call: _Call, script: Script) -> None:
        """Give Redis a script that it does not know (any more), and run the call again."""
        self._enqueue(("SCRIPT", "LOAD", script.source), None)
        self._waiting.append(call)

    def _lose(self, reason: str) -> None:
        """Forget the connection; nobody will ever know what became of what it carried."""
        self._wire = None
        self._set_up(False, reason)
        calls = list(self._sent)
        self._sent.clear()
        self._fail(calls, reason)

    def _fail(self, calls: list[_Call], reason: str) -> None:
        for call in calls:
            _settle(call, StoreUnavailable(reason))

    def _watch_until(self, time: float) -> None:
        self._watch = asyncio.get_running_loop().call_at(time, self._check_answers)

    def _check_answers(self) -> None:
        """Give up a connection whose oldest command has waited too long for its reply."""
        self._watch = None
        if not self._sent or self._wire is None:
            return
        due = self._sent[0].sent_at + self._answer_seconds
        if asyncio.get_running_loop().time() < due:
            self._watch_until(due)
        else:
            self._wire.close("it took too long")

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
    if isinstance(reply, StoreUnavailable):
        call.reply.set_exception(reply)
        call.reply.exception()  # nobody need be waiting for it, so asyncio is not to warn of that
    else:
        call.reply.set_result(reply)
