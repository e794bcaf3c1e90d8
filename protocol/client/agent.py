"""Hold an agent's side of the protocol: join, follow the table, place.

A command is sent under one id, again after each new connection, until it has its one outcome.
Source: PROTOCOL.md, Agent to hub.
"""

import asyncio
import uuid
from collections.abc import Sequence
from contextlib import aclosing, suppress
from typing import Any, Self

from protocol.codec import Format
from protocol.messages import (
    Ack,
    Action,
    AnyCommand,
    CloseCode,
    Error,
    ErrorCode,
    Join,
    Leave,
    Left,
    MatchFinished,
    MatchId,
    MatchStarted,
    PlaceParams,
    Queued,
    Roll,
    ServerMessage,
    Snapshot,
    Sync,
    TableState,
    Welcome,
)

from .errors import ClientError, Closed, Refused
from .resume import Cursor
from .stream import Stream
from .table import TableMessage, apply

LEAVE_S = 1.0  # for the hub to confirm a leave on the way out
RETRY_S = 0.5  # before a command is sent again, if the hub names no time

_NO_OUTCOME_YET = {ErrorCode.UNAVAILABLE, ErrorCode.RATE_LIMITED, ErrorCode.DRAINING}
_HAS_JOINED = {ErrorCode.ALREADY_QUEUED, ErrorCode.ALREADY_SEATED}

Reply = Queued | Left | Ack | Snapshot | Error


class Client:
    """One agent's connection: enter it with `async with`, iterate it for its tables' messages.

    `url` is that of a hub, like wss://host, or a sequence of such, tried in turn. Entering waits
    for a hub as long as it takes; raises AuthenticationFailed if that does not take the token.
    Leaving the block leaves the queue, too; a match under way goes on without the agent.

    `welcome` is that of the latest connection. `my_turn` tells whether the message that the
    iteration has just yielded asks this agent to place.
    """

    welcome: Welcome
    my_turn: bool = False

    def __init__(self, url: str | Sequence[str], token: str, *, format: Format = "msgpack") -> None:
        self._cursor = Cursor()
        self._stream = Stream(url, "/play", self._cursor, token=token, format=format)
        # Unbounded, as replies come behind events; a match waits for its agents, or soon ends.
        self._inbox: asyncio.Queue[TableMessage | Exception] = asyncio.Queue()
        self._waiting: dict[str | None, _Waiting] = {}
        self._match_id = MatchId("")
        self._table: TableState | None = None
        self._newest_turn: tuple[MatchId, int] | None = None  # that a message has told of
        self._standing: Join | None = None  # a join that has yet to lead to a match
        self._end: Exception | None = None
        self._welcomed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._tasks.add(asyncio.create_task(self._read()))
        try:
            await self._welcomed.wait()
        except asyncio.CancelledError:
            await self._stop()
            raise
        if self._end is not None:
            raise self._end
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._standing is not None:
            with suppress(ClientError, TimeoutError):
                await asyncio.wait_for(self.leave(), LEAVE_S)
        await self._stop()
        self._finish(Closed(CloseCode.ENDED, "the client has left"))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> TableMessage:
        """Return the next event, snapshot or presence of the agent's table.

        Raises Refused when the hub turns down a join that it had taken before (the iteration may
        go on), and HandshakeFailed or Closed when there is no going on.
        """
        message = await self._inbox.get()
        if isinstance(message, Exception):
            if message is self._end:
                self._inbox.put_nowait(message)
            raise message
        self._table = apply(self._table, message)
        self._match_id = message.match_id
        self.my_turn = isinstance(message, Roll | Snapshot) and self._is_asked(self._table)
        return message

    @property
    def table(self) -> TableState:
        """The table after the message that the iteration yielded last. Raises Refused if none."""
        if self._table is None:
            raise Refused(Error(code=ErrorCode.NOT_SEATED, message="no table has been seen yet"))
        return self._table

    async def join(
        self,
        *,
        client_seed: str = "",
        fee_min: int | None = None,
        fee_max: int | None = None,
        continuous: bool = False,
    ) -> Queued | None:
        """Queue for a match, or with `continuous` for one after the other; fees are in HP.

        Return None if the hub had taken the join already, but its reply was lost with a
        connection. If the hub loses the agent's place in the queue, it is taken again.
        Raises Refused.
        """
        before = self._standing
        self._standing = Join(
            id=_fresh_id(),
            client_seed=client_seed,
            fee_min=fee_min,
            fee_max=fee_max,
            continuous=continuous,
        )
        try:
            queued: Queued | None = await self._ask(self._standing)
        except Refused:
            self._standing = before
            raise
        return queued

    async def leave(self) -> None:
        """Leave the queue, and do not join again after the match under way. Raises Refused."""
        self._standing = None
        await self._ask(Leave(id=_fresh_id()))

    async def sync(self, match_id: str | None = None) -> Snapshot:
        """Ask for a snapshot of a match, by default of the agent's own. Raises Refused.

        It is no part of the iteration, which may have yet to yield the events before it.
        """
        snapshot: Snapshot = await self._ask(Sync(id=_fresh_id(), match_id=match_id))
        return snapshot

    async def place(
        self,
        face: int,
        *,
        message: str = "",
        nonce: str = "",
        match_id: str | None = None,
        turn: int | None = None,
        id: str | None = None,
    ) -> Ack:
        """Place every die of a face, by default in the turn of the message iterated last.

        It counts once, however often connections break; `id` is its idempotency key, by default a
        fresh one. Raises Refused, and then nothing was placed.
        """
        action = Action(
            id=id or _fresh_id(),
            match_id=match_id or self._match_id,
            turn=self.table.turn if turn is None else turn,
            action="place",
            params=PlaceParams(face=face, message=message, nonce=nonce),
        )
        ack: Ack = await self._ask(action)
        return ack

    def _is_asked(self, table: TableState) -> bool:
        seat = table.current_seat
        return (
            seat is not None
            and table.players[seat].agent_id == self.welcome.agent_id
            and (self._match_id, table.turn) == self._newest_turn
        )

    # ---- Commands and their replies

    async def _ask(self, command: AnyCommand) -> Any:
        """Send a command until it has an outcome; None for a join that had counted before.

        Raises Refused, or what ended the stream.
        """
        if self._end is not None:
            raise self._end
        waiting = self._waiting[command.id] = _Waiting(command)
        try:
            while True:
                await self._send(waiting)
                reply = await waiting.replies.get()
                if isinstance(reply, Exception):
                    raise reply
                if not isinstance(reply, Error):
                    return reply
                if not self._is_passing(reply):
                    if reply.code in _HAS_JOINED and waiting.sends > 1:
                        return None
                    raise Refused(reply)
                await asyncio.sleep(RETRY_S if reply.retry_ms is None else reply.retry_ms / 1000)
        finally:
            del self._waiting[command.id]

    def _is_passing(self, error: Error) -> bool:
        """Tell whether a command has no outcome yet."""
        # Between a match's end and its result's being booked, its seats are not free yet.
        is_booking = error.code == ErrorCode.ALREADY_SEATED and self._cursor.finished
        return is_booking or error.code in _NO_OUTCOME_YET

    async def _send(self, waiting: "_Waiting") -> None:
        waiting.sends += await self._stream.send(waiting.command)

    async def _rejoin(self, join: Join) -> None:
        try:
            await self._ask(join)
        except Refused as refused:
            if refused.code not in _HAS_JOINED:
                self._lose_place(refused)

    # ---- What the hub sends

    async def _read(self) -> None:
        try:
            async with aclosing(self._stream.messages()) as messages:
                async for message in messages:
                    await self._take(message)
        except Exception as error:
            self._finish(error)

    async def _take(self, message: ServerMessage) -> None:
        match message:
            case Welcome():
                await self._resume(message)
            case Error(id=None):
                self._heed(message)
            case Queued() | Left() | Ack() | Error() | Snapshot(id=str()):
                self._settle(message)
            case _ if isinstance(message, TableMessage):
                self._forward(message)

    async def _resume(self, welcome: Welcome) -> None:
        """Send again what has no outcome yet."""
        self.welcome = welcome
        self._welcomed.set()
        for waiting in list(self._waiting.values()):
            await self._send(waiting)
        join = self._standing
        is_out = welcome.match_id is None and not welcome.queued
        if join is not None and is_out and join.id not in self._waiting:
            self._tasks.add(asyncio.create_task(self._rejoin(join)))

    def _settle(self, reply: Reply) -> None:
        waiting = self._waiting.get(reply.id)
        if waiting is not None:
            waiting.replies.put_nowait(reply)

    def _heed(self, error: Error) -> None:
        """Take an error that answers no command in particular."""
        if error.code not in _NO_OUTCOME_YET:
            self._lose_place(Refused(error))

    def _lose_place(self, refused: Refused) -> None:
        self._standing = None
        self._inbox.put_nowait(refused)

    def _forward(self, message: TableMessage) -> None:
        join = self._standing
        if isinstance(message, MatchStarted | Snapshot) and join is not None:
            self._standing = join if join.continuous else None
        # A turn that is over by the time it is yielded, as after a break, asks for nothing.
        if isinstance(message, Roll):
            self._newest_turn = (message.match_id, message.turn)
        elif isinstance(message, Snapshot):
            self._newest_turn = (message.match_id, message.state.turn)
        elif isinstance(message, MatchFinished):
            self._newest_turn = None
        self._inbox.put_nowait(message)

    async def _stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _finish(self, error: Exception) -> None:
        self._end = error
        for waiting in self._waiting.values():
            waiting.replies.put_nowait(error)
        self._inbox.put_nowait(error)
        self._welcomed.set()


class _Waiting:
    """A command without an outcome yet; `sends` counts how often a connection has taken it."""

    def __init__(self, command: AnyCommand) -> None:
        self.command = command
        self.sends = 0
        self.replies: asyncio.Queue[Reply | Exception] = asyncio.Queue()


def _fresh_id() -> str:
    return uuid.uuid4().hex
