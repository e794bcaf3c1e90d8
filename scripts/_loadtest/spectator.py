"""Watch matches under way, as a viewer does, and some of them too slowly."""

import asyncio
import random
from collections.abc import Iterable
from urllib.parse import quote

import msgspec

from .bot import agent_prefix
from .client import Client, Meter
from .socket import CannotConnect, closed, dial
from .stream import Glance, Seat

SLOW_PAUSE_S = 3.0  # that a slow reader reads nothing
RETRY_S = 1.0


class _Row(msgspec.Struct):
    match_id: str
    players: tuple[Seat, ...] = ()


class _Notice(msgspec.Struct):
    type: str
    live: tuple[_Row, ...] = ()
    match: _Row | None = None


_notice = msgspec.msgpack.Decoder(_Notice).decode


class Lobby:
    """The matches of this run that are under way, as a lobby's stream tells; without bots, all."""

    def __init__(self, meter: Meter, url: str) -> None:
        self._meter = meter
        self._url = url
        self._agents = agent_prefix(meter.load.run_id) if meter.load.has_bots else ""
        self._live: dict[str, None] = {}
        self._any = asyncio.Event()

    async def choose(self) -> str:
        """Choose a match at random, as soon as there is one."""
        while not self._live:
            self._any.clear()
            await self._any.wait()
        return random.choice(list(self._live))

    def forget(self, match_id: str) -> None:
        """Take a match off the list: it has ended."""
        self._live.pop(match_id, None)

    async def run(self) -> None:
        """Listen until cancelled."""
        while True:
            try:
                connection = await dial(self._url + "/watch")
            except CannotConnect as error:
                self._meter.tally.fail(error.reason)
            else:
                connection.listen(self._hear)
                await closed(connection)
            await asyncio.sleep(RETRY_S)

    def _hear(self, data: bytes) -> None:
        notice = _notice(data)
        if notice.type == "lobby":
            self._live = {}
            self._list(notice.live)
        elif notice.match is not None and notice.type == "match_listed":
            self._list([notice.match])
        elif notice.match is not None and notice.type == "match_closed":
            self.forget(notice.match.match_id)

    def _list(self, rows: Iterable[_Row]) -> None:
        for row in rows:
            if any(player.agent_id.startswith(self._agents) for player in row.players):
                self._live[row.match_id] = None
                self._any.set()


class Spectator(Client):
    """A socket that watches one match after the other."""

    def __init__(self, meter: Meter, url: str, lobby: Lobby, *, loses: bool, slow: bool) -> None:
        super().__init__(meter, url, loses=loses)
        self._lobby = lobby
        self._slow = slow

    async def path(self) -> str:
        """Go on with the match, or choose one."""
        if self.stream.match_id is not None:
            return f"/watch/{quote(self.stream.match_id)}?after={self.stream.seq}"
        return f"/watch/{quote(await self._lobby.choose())}"

    def token(self) -> str:
        """Show nothing: spectators need no token."""
        return ""

    def opened(self) -> None:
        """Begin to read slowly, if it is one of those."""
        if self._slow:
            self._pause_reading()

    def take(self, message: Glance) -> None:
        """Take one message."""
        if not self.stream.note(message, self.meter.tally):
            return
        if message.type == "placed" and not self._slow:
            late_us = self.lateness_us(message)
            if late_us is not None:
                self.meter.tally.latency("spectator").record(late_us)
        elif message.type == "match_finished":
            self._lobby.forget(message.match_id or "")
            self.stream.end()

    def _pause_reading(self) -> None:
        """Read for one turn of the loop, then nothing for a while."""
        if self.connection is None or self.connection.transport.is_closing():
            return
        loop = asyncio.get_running_loop()
        transport = self.connection.transport
        transport.resume_reading()
        loop.call_soon(lambda: loop.call_soon(transport.pause_reading))
        loop.call_later(SLOW_PAUSE_S, self._pause_reading)
