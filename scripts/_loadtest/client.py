"""Keep one client going: connect, listen until the end, come again; now and then lose the line."""

import asyncio
import random
import time
from abc import ABC, abstractmethod

from .clock import HubClock
from .load import Load
from .socket import CannotConnect, LoadConnection, closed, dial
from .stream import Glance, Stream, look
from .tally import Tally

NORMAL = 1000  # the close code of a stream that has ended
RETRY_SECONDS = (0.5, 2.0)  # before the next attempt to connect
LOSE_SECONDS = (5.0, 15.0)  # how long a connection of a client lives that loses them


class Meter:
    """What all clients of one process share."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.clock = HubClock()
        self.tally = Tally()
        self.open = 0
        self.measuring = False


class Client(ABC):
    """One simulated client. It runs until it is cancelled."""

    def __init__(self, meter: Meter, url: str, *, loses: bool) -> None:
        self.meter = meter
        self.stream = Stream()
        self.connection: LoadConnection | None = None
        self._url = url
        self._loses = loses
        self._lost_on_purpose = False
        self._retry_ms: int | None = None
        self._finished = False
        self._connected = 0.0

    async def run(self) -> None:
        """Connect again and again."""
        while True:
            path = await self.path()
            try:
                connection = await dial(self._url + path, self.token())
            except CannotConnect as error:
                self.meter.tally.fail(error.reason)
            else:
                await self._stay(connection)
            await asyncio.sleep(self._pause())

    @abstractmethod
    async def path(self) -> str:
        """Choose what to ask for."""

    @abstractmethod
    def token(self) -> str:
        """Return the token to show, if any."""

    @abstractmethod
    def take(self, message: Glance) -> None:
        """Take one message."""

    async def _stay(self, connection: LoadConnection) -> None:
        meter = self.meter
        meter.open += 1
        meter.tally.connects += 1
        self.connection, self._lost_on_purpose, self._finished = connection, False, False
        self._connected = time.monotonic()
        losing = self._plan_loss() if self._loses else None
        try:
            self.opened()
            connection.listen(self._hear)
            code = await closed(connection)
            if not (self._lost_on_purpose or self._finished):
                meter.tally.close(code)
        finally:
            meter.open -= 1
            self.connection = None
            if losing is not None:
                losing.cancel()
            connection.transport.abort()

    def opened(self) -> None:  # noqa: B027 - most clients do nothing then
        """Hear that a connection is there, before its first message."""

    def lateness_us(self, event: Glance) -> int | None:
        """Return how long ago an event was committed; None if it waited for this connection."""
        late_us = self.meter.clock.since_us(event.ts)
        is_resumed = late_us > (time.monotonic() - self._connected) * 1e6
        return None if is_resumed or not self.meter.measuring else late_us

    def _hear(self, data: bytes) -> None:
        message = look(data)
        tally = self.meter.tally
        tally.deliveries += 1
        tally.bytes += len(data)
        if message.type == "bye":
            self._retry_ms = message.retry_ms
            self._finished = message.code == NORMAL
        self.take(message)

    def _plan_loss(self) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(random.uniform(*LOSE_SECONDS), self._lose)

    def _lose(self) -> None:
        self._lost_on_purpose = True
        if self.connection is not None:
            self.connection.transport.abort()

    def _pause(self) -> float:
        if self._lost_on_purpose or self._finished:
            return 0.0
        retry_ms, self._retry_ms = self._retry_ms, None
        return random.uniform(*RETRY_SECONDS) if retry_ms is None else retry_ms / 1000
