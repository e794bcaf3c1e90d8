"""Serve one agent's connection: welcome, stream, commands in order, replies."""

import asyncio
import random
import time
from collections import deque
from collections.abc import Awaitable
from contextlib import suppress
from typing import assert_never

import structlog
from websockets.exceptions import ConnectionClosed

from hub.lobby.matchmaker import Matchmaker
from hub.lobby.presence import Hall
from hub.metrics import Metrics
from hub.settings import Settings
from hub.sockets.connection import HubConnection
from hub.sockets.eager import begin
from hub.sockets.outbox import UNAVAILABLE_RETRY_MS, Outbox
from hub.store.link import StoreUnavailable
from hub.store.lobby import InQueue, JoinRequest, Lobby, NotQueued
from hub.tables.referee import Referee, Refusal
from hub.tables.replica import Table
from hub.tables.subscriptions import Relay
from hub.tokens import Identity
from protocol.codec import DecodeError, Format, decode_command
from protocol.messages import (
    MESSAGE_LIMIT_BYTES,
    PROTOCOL_VERSION,
    TALK_LIMIT_CHARS,
    Ack,
    Action,
    AnyCommand,
    CloseCode,
    Error,
    ErrorCode,
    Join,
    Leave,
    Left,
    Limits,
    MatchId,
    Message,
    Queued,
    Sync,
    Welcome,
)

INBOX_MESSAGES = 16  # that may wait for the one before them; further ones stay in the socket
FLOOD_MESSAGES = 200  # messages refused as too many, one after another, that end the connection

_log = structlog.get_logger()


class Allowance:
    """A token bucket: `per_second` messages in the long run, `burst` at once."""

    def __init__(self, per_second: int, burst: int) -> None:
        self._per_second = per_second
        self._burst = burst
        self._left = float(burst)
        self._as_of = time.monotonic()

    def take(self) -> int:
        """Take one message; 0, or how many ms to wait before the next is allowed."""
        now = time.monotonic()
        self._left = min(self._burst, self._left + (now - self._as_of) * self._per_second)
        self._as_of = now
        if self._left >= 1:
            self._left -= 1
            return 0
        return int((1 - self._left) / self._per_second * 1000) + 1


class Player:
    """One socket of one agent."""

    def __init__(
        self,
        connection: HubConnection,
        identity: Identity,
        format: Format,
        *,
        settings: Settings,
        lobby: Lobby,
        hall: Hall,
        relay: Relay,
        referee: Referee,
        matchmaker: Matchmaker,
        metrics: Metrics,
    ) -> None:
        self.agent_id = identity.agent_id
        self._identity = identity
        self._connection = connection
        self._format: Format = format
        self._settings = settings
        self._lobby = lobby
        self._hall = hall
        self._relay = relay
        self._referee = referee
        self._matchmaker = matchmaker
        self._metrics = metrics
        self.outbox = Outbox(connection, format, settings.agent_outbox_bytes, self._too_slow)
        self.deliver = self.outbox.deliver
        per_second = settings.messages_per_second
        self._allowance = Allowance(per_second, settings.message_burst or 2 * per_second)
        self._refused_in_a_row = 0
        self._tables: dict[MatchId, Table] = {}
        self._latest: MatchId | None = None
        self._welcomed = self._is_draining = False
        self._inbox: deque[tuple[bytes, bool]] = deque()
        self._work: asyncio.Task[None] | None = None
        self._seats: asyncio.Queue[MatchId] = asyncio.Queue()
        self._log = _log.bind(agent_id=identity.agent_id, socket=str(connection.id))

    # ---- What tables and the hall say to this socket

    def send(self, message: Message) -> None:
        """Send a message of this socket's own."""
        self.outbox.send(message)

    def ended(self, match_id: MatchId) -> None:
        """Forget a match that has finished."""
        self._tables.pop(match_id, None)

    def seat(self, match_id: MatchId) -> None:
        """Follow a match from its first event, unless that is so already."""
        self._seats.put_nowait(match_id)

    # ---- The connection's life

    async def run(self, resume: tuple[MatchId, int] | None) -> None:
        """Serve the connection until it closes."""
        expiry = asyncio.get_running_loop().call_later(
            self._identity.expires_at / 1000 - time.time(), self._expired
        )
        self._connection.listen(self._hear)
        try:
            await self._welcome(resume)
            self._welcomed = True
            if self._inbox:
                self._begin()
            async with asyncio.TaskGroup() as tasks:
                following = tasks.create_task(self._follow_seats())
                with suppress(ConnectionClosed):
                    await self._serve()
                following.cancel()
        except StoreUnavailable:
            self.outbox.close_unavailable()
        finally:
            expiry.cancel()
            for table in self._tables.values():
                table.unseat(self)
            while self._work is not None:
                await asyncio.wait([self._work])
            await self._hall.leave(self)
            await self.outbox.closed()

    async def drain(self, retry_ms: int) -> None:
        """Finish the command under way and say bye: the hub is stopping."""
        self._is_draining = True
        if self._work is not None:
            await asyncio.wait([self._work])
        self.outbox.close(CloseCode.GOING_AWAY, "the hub is stopping", retry_ms=retry_ms)

    async def _welcome(self, resume: tuple[MatchId, int] | None) -> None:
        standing = await self._hall.enter(self, self._identity.name)
        self.send(
            Welcome(
                protocol=PROTOCOL_VERSION,
                hub=self._hall.hub_id,
                agent_id=self.agent_id,
                name=self._identity.name,
                hp=standing.hp,
                match_id=standing.match_id,
                queued=standing.queued,
                now=int(time.time() * 1000),
                limits=Limits(
                    message_bytes=MESSAGE_LIMIT_BYTES,
                    messages_per_second=self._settings.messages_per_second,
                    talk_chars=TALK_LIMIT_CHARS,
                ),
            )
        )
        if standing.queued:
            self._matchmaker.wake()
        if resume is not None:
            await self._resume(*resume, standing.match_id)
        if standing.match_id is not None and standing.match_id not in self._tables:
            await self._follow(standing.match_id, None)

    async def _resume(self, match_id: MatchId, after: int, seat: MatchId | None) -> None:
        table = await self._follow(match_id, after)
        if match_id != seat:
            await self._end_matches()
        if table is not None and table.finished:
            self.outbox.close(CloseCode.ENDED, "the match has ended")

    async def _end_matches(self) -> None:
        """Deliver what this hub may have missed of matches that have ended, as the agent left."""
        for table in list(self._tables.values()):
            await self._relay.catch_up(table)

    async def _follow(self, match_id: MatchId, after: int | None) -> Table | None:
        table = await self._relay.open(match_id)
        if table is not None:
            self._tables[match_id] = table
            self._latest = match_id
            await self._relay.follow(table, self, after)
        return table

    async def _follow_seats(self) -> None:
        while True:
            match_id = await self._seats.get()
            if match_id == self._latest:
                continue
            try:
                await self._end_matches()  # nobody sits at two tables
                await self._follow(match_id, 0)
            except StoreUnavailable:
                self.outbox.close_unavailable()

    async def _serve(self) -> None:
        async for data in self._connection:
            if isinstance(data, str):
                self._hear(data.encode(), is_text=True)
            else:
                self._hear(data, is_text=False)
            while self._work is not None:  # further messages wait in the connection
                await asyncio.wait([self._work])

    def _hear(self, data: bytes, /, *, is_text: bool) -> None:
        """Take a message as it is read, or after the ones before it."""
        self._inbox.append((data, is_text))
        if self._work is None and self._welcomed:
            self._begin()
        elif len(self._inbox) == INBOX_MESSAGES:
            self._connection.transport.pause_reading()

    def _begin(self) -> None:
        self._work = begin(self._take_all())
        if self._work is not None:
            self._work.add_done_callback(self._rest)

    async def _take_all(self) -> None:
        while self._inbox:
            was_full = len(self._inbox) >= INBOX_MESSAGES
            data, is_text = self._inbox.popleft()
            if was_full and not self._connection.transport.is_closing():
                self._connection.transport.resume_reading()
            await self._take(data, is_text=is_text)

    def _rest(self, work: asyncio.Task[None]) -> None:
        self._work = None
        if work.cancelled():
            return
        work.result()
        if self._inbox:  # it came after the work had looked for the last time
            self._begin()

    async def _take(self, data: bytes, *, is_text: bool) -> None:
        if self._is_draining or self.outbox.is_closing:
            return
        if is_text != (self._format == "json"):
            self.outbox.close(CloseCode.UNSUPPORTED_DATA, f"this socket takes {self._format} only")
            return
        wait_ms = self._allowance.take()
        if wait_ms:
            self._refuse_flood(data, wait_ms)
            return
        self._refused_in_a_row = 0
        await self._handle(data)

    async def _handle(self, data: bytes) -> None:
        try:
            command = decode_command(data, self._format)
        except DecodeError as error:
            self._error(ErrorCode.BAD_MESSAGE, error.reason, error.id)
            return
        try:
            self.send(await self._obey(command))
        except Refusal as refusal:
            if isinstance(command, Action):
                self._metrics.moves[refusal.code] += 1
            self._error(refusal.code, refusal.message, command.id)
        except StoreUnavailable as error:
            retry_ms = random.randint(*UNAVAILABLE_RETRY_MS)
            self._error(ErrorCode.UNAVAILABLE, f"{error}; send it again", command.id, retry_ms)

    def _obey(self, command: AnyCommand) -> Awaitable[Message]:
        match command:
            case Action():
                return self._act(command)
            case Join():
                return self._join(command)
            case Leave():
                return self._leave(command)
            case Sync():
                return self._sync(command)
            case _:
                assert_never(command)

    async def _act(self, action: Action) -> Ack:
        placement = await self._referee.place(self.agent_id, action)
        self._metrics.moves["replayed" if placement.replayed else "committed"] += 1
        return Ack(
            id=action.id,
            match_id=MatchId(action.match_id),
            turn=placement.record.turn,
            seq=placement.record.seq,
            replayed=placement.replayed,
            think_ms=placement.record.think_ms,
            latency_ms=self._connection.round_trip_ms,
        )

    async def _join(self, join: Join) -> Queued:
        fee_min, fee_max = _fee_range(join, self._settings.entry_fee_hp)
        request = JoinRequest(
            self._identity.name, join.client_seed, fee_min, fee_max, join.continuous
        )
        answer = await self._matchmaker.join(self.agent_id, request)
        if isinstance(answer, NotQueued):
            raise _not_queued(answer, fee_min)
        assert isinstance(answer, InQueue)
        return Queued(
            id=join.id,
            position=answer.position,
            waiting=answer.waiting,
            fee_min=fee_min,
            fee_max=fee_max,
        )

    async def _leave(self, leave: Leave) -> Left:
        await self._lobby.leave(self.agent_id)
        return Left(id=leave.id)

    async def _sync(self, sync: Sync) -> Message:
        match_id = sync.match_id
        if match_id is None:
            (match_id,) = await self._lobby.seats([self.agent_id])
        if match_id is None:
            raise Refusal(
                ErrorCode.NOT_SEATED, "you sit in no match: name a match_id, or join first"
            )
        table = self._tables.get(MatchId(match_id)) or await self._relay.open(match_id)
        if table is None:
            raise Refusal(ErrorCode.MATCH_NOT_FOUND, f"there is no match {match_id!r}")
        return table.snapshot(id=sync.id)

    def _error(
        self, code: ErrorCode, message: str, id: str | None, retry_ms: int | None = None
    ) -> None:
        self._metrics.errors[code] += 1
        self.send(Error(id=id, code=code, message=message, retry_ms=retry_ms))

    def _refuse_flood(self, data: bytes, wait_ms: int) -> None:
        self._refused_in_a_row += 1
        if self._refused_in_a_row >= FLOOD_MESSAGES:
            self.outbox.close(CloseCode.POLICY, "too many messages", retry_ms=wait_ms)
            return
        rate = self._settings.messages_per_second
        message = f"you may send {rate} messages a second"
        self._error(ErrorCode.RATE_LIMITED, message, _find_id(data, self._format), wait_ms)

    def _too_slow(self) -> None:
        self._log.warning("agent_too_slow")
        self.outbox.close(CloseCode.TRY_AGAIN_LATER, "your socket could not keep up")

    def _expired(self) -> None:
        self.outbox.close(CloseCode.POLICY, "your token has expired", reconnect=False)


def _find_id(data: bytes, format: Format) -> str | None:
    try:
        return decode_command(data, format).id
    except DecodeError as error:
        return error.id


def _fee_range(join: Join, standard_hp: int) -> tuple[int, int]:
    if join.fee_min is None and join.fee_max is None:
        return standard_hp, standard_hp
    if join.fee_min is None or join.fee_max is None or join.fee_min > join.fee_max:
        raise Refusal(
            ErrorCode.FEE_RANGE,
            "name both fee_min and fee_max, the smaller one first, or neither",
        )
    return join.fee_min, join.fee_max


def _not_queued(answer: NotQueued, fee_min: int) -> Refusal:
    match answer.reason:
        case "already_queued":
            return Refusal(ErrorCode.ALREADY_QUEUED, "you wait for a match already")
        case "already_seated":
            return Refusal(
                ErrorCode.ALREADY_SEATED, f"you sit in match {answer.detail}: finish it first"
            )
        case "insufficient_hp":
            return Refusal(
                ErrorCode.INSUFFICIENT_HP,
                f"your lowest fee is {fee_min} HP and you have {answer.detail}: name a lower one",
            )
