"""Pass each table's feed on to the sockets that follow it, without a gap or a repetition.

A hub follows a table while one of its sockets does. What the channel carries is applied in order
of `seq`; where it does not connect, the missing part is read from the log first.
"""

import asyncio
from collections.abc import Callable

import structlog

from hub.loops import spread
from hub.metrics import Metrics
from hub.sockets.fanout import Pacer
from hub.sockets.outbox import Batch, Outbox
from hub.store.feed import Feed, Subscription
from hub.store.keys import Keys
from hub.store.link import store_permitting
from hub.store.lobby import Lobby
from hub.store.tables import (
    CROWD_LEASE_MS,
    CrowdSize,
    SeatPresence,
    TableCopy,
    Tables,
    Update,
    read_update,
)
from hub.tables.replica import Follower, Table, say_goodbye

RETRY_SECONDS = 0.2  # between attempts to read the log while the store is away
LINGER_SECONDS = 10.0  # a table without sockets is kept this long: agents may be reconnecting

CROWD_SECONDS = 1.0  # between counts of spectators
CROWD_RENEWAL_SECONDS = CROWD_LEASE_MS / 1000 / 3  # two renewals may fail

_log = structlog.get_logger()


class TableFeed:
    """One table's channel: puts what it carries in order and fills gaps from the store."""

    def __init__(self, table: Table, tables: Tables, lobby: Lobby) -> None:
        self.table = table
        self._tables = tables
        self._lobby = lobby
        self._waiting: list[Update] = []
        self._is_due = False
        self._repair: asyncio.Task[None] | None = None

    def on_message(self, message: bytes) -> None:
        """Take what the channel carried."""
        carried = read_update(message)
        if isinstance(carried, SeatPresence):
            self.table.note(carried)
            return
        if isinstance(carried, CrowdSize):
            self.table.resize(carried)
            return
        self._waiting.append(carried)
        self._apply()

    def repair(self) -> None:
        """Read from the store what may have been missed until now, and go on from there."""
        self._is_due = True
        if self._repair is None:
            self._repair = asyncio.create_task(self._catch_up())

    async def repaired(self) -> None:
        """Wait until no repair is under way."""
        if self._repair is not None:
            await asyncio.shield(self._repair)

    @property
    def is_idle(self) -> bool:
        """Tell whether nobody here needs the table."""
        return not self.table.is_followed and self._repair is None

    def _apply(self) -> None:
        while self._waiting and self._repair is None:
            update = self._waiting[0]
            if update.first_seq > self.table.seq + 1:
                self.repair()
                return
            self._waiting.pop(0)
            if update.first_seq == self.table.seq + 1:
                self.table.advance(update)

    async def _catch_up(self) -> None:
        while self._is_due:  # also if that was asked for after the store had answered
            self._is_due = False
            with store_permitting():
                await self._read()
                continue
            self._is_due = True
            await asyncio.sleep(RETRY_SECONDS)
        self._repair = None
        self._apply()

    async def _read(self) -> None:
        missed, connected, (spectators,) = await asyncio.gather(
            read_missed(self._tables, self.table),
            self._lobby.connected(self.table.agent_ids),
            self._tables.crowds([self.table.match_id]),
        )
        if missed is not None and missed.first_seq == self.table.seq + 1:
            _log.info("feed_repaired", match_id=self.table.match_id, events=len(missed.events))
            self.table.advance(missed)
        for seat, is_connected in enumerate(connected):
            self.table.note(SeatPresence(seat, is_connected))
        self.table.resize(CrowdSize(spectators))


async def read_missed(tables: Tables, table: Table) -> Update | None:
    """Read the events after a table's `seq` and the state that they lead to; None if none."""
    first_seq = table.seq + 1
    newer = await tables.load_packed(table.match_id)
    if newer is None:
        return None
    last_seq, public = newer
    if last_seq < first_seq:
        return None
    events = await tables.log(table.match_id, first_seq, last_seq)
    return Update(first_seq, public, tuple(events))


class Relay:
    """The tables that this hub follows."""

    def __init__(
        self,
        hub_id: str,
        *,
        tables: Tables,
        lobby: Lobby,
        feed: Feed,
        keys: Keys,
        metrics: Metrics,
    ) -> None:
        self._hub_id = hub_id
        self._pacer = Pacer(metrics)
        self._tables = tables
        self._lobby = lobby
        self._feed = feed
        self._keys = keys
        self._open: dict[str, tuple[TableFeed, Subscription]] = {}
        self._opening: dict[str, asyncio.Task[Table | None]] = {}
        self._idle: set[str] = set()

    def copy(self, match_id: str) -> TableCopy | None:
        """Return what this hub holds of a table, if it follows it."""
        if match_id not in self._open:
            return None
        return self._open[match_id][0].table.copy

    async def open(self, match_id: str) -> Table | None:
        """Follow a table, if this hub does not yet; None if there is no such match."""
        self._idle.discard(match_id)  # whoever opens it is about to follow it
        if match_id in self._open:
            channel, _ = self._open[match_id]
            await channel.repaired()
            return channel.table
        if match_id not in self._opening:
            self._opening[match_id] = asyncio.create_task(self._open_table(match_id))
        return await asyncio.shield(self._opening[match_id])

    async def follow(self, table: Table, agent: Follower, after: int | None) -> None:
        """Give an agent's socket all that comes after event `after`, or a snapshot and the rest."""
        await self._reach(table, after)
        if after is None or after > table.seq:
            agent.deliver(Batch.of(table.snapshot()))
        else:
            await self._send_log(table, after, agent.deliver)
        if table.finished:
            agent.ended(table.match_id)
        else:
            table.seat(agent)

    async def watch(self, table: Table, outbox: Outbox, after: int | None) -> None:
        """Give a spectator all that comes after event `after`, or a snapshot and the rest."""
        await self._reach(table, after)
        if after is None or after > table.seq:
            outbox.send(table.snapshot())
        else:
            await self._send_log(table, after, outbox.deliver)
        outbox.flush()
        if table.finished:
            say_goodbye(outbox)
        else:
            table.crowd.admit(outbox)

    async def catch_up(self, table: Table) -> None:
        """Bring a table to where the store has it now, for whoever follows it."""
        if table.match_id in self._open:
            channel, _ = self._open[table.match_id]
            channel.repair()
            await channel.repaired()

    async def _reach(self, table: Table, after: int | None) -> None:
        """Read on if a client knows more than this hub, whose subscription may be dead."""
        if after is not None and after > table.seq:
            await self.catch_up(table)

    async def _send_log(self, table: Table, after: int, deliver: Callable[[Batch], None]) -> None:
        """Deliver the events after `after` up to table.seq, whatever that is by the end."""
        while after < table.seq:
            events = await self._tables.log(table.match_id, after + 1, table.seq)
            if not events:
                return  # an old match, deleted just now
            deliver(Batch(events))
            after += len(events)

    async def run(self) -> None:
        """Count crowds, and stop following tables that nobody here needs, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._count_crowds())
            tasks.create_task(self._tidy())

    async def _count_crowds(self) -> None:
        """Tell of each crowd here whose size has changed, and of each now and then."""
        told: dict[str, tuple[int, float]] = {}
        while True:
            now = asyncio.get_running_loop().time()
            sizes = {each: len(feed.table.crowd) for each, (feed, _) in self._open.items()}
            stale = {
                each: size
                for each, size in sizes.items()
                if (last := told.get(each, (0, now)))[0] != size
                or (size and now - last[1] >= CROWD_RENEWAL_SECONDS)
            }
            told = {each: told[each] for each in told if each in sizes}
            async for few in spread(stale, CROWD_SECONDS):
                with store_permitting():
                    await asyncio.gather(
                        *(self._tables.count_crowd(each, self._hub_id, stale[each]) for each in few)
                    )
                    told.update((each, (stale[each], now)) for each in few)

    async def _tidy(self) -> None:
        while True:
            await self.check_presence(LINGER_SECONDS)
            await self.tidy()

    async def tidy(self) -> None:
        """Stop following the tables that nobody here has needed since the last time."""
        idle = {each for each, (channel, _) in self._open.items() if channel.is_idle}
        left = [self._open.pop(match_id) for match_id in idle & self._idle]
        self._idle = idle
        for _, subscription in left:
            self._feed.unsubscribe(subscription)

    async def check_presence(self, seconds: float) -> None:
        """Find out whose every hub has stopped vouching: a dead hub tells nobody of its agents."""
        tables = [channel.table for channel, _ in self._open.values()]
        async for few in spread((each for each in tables if not each.finished), seconds):
            with store_permitting():
                await asyncio.gather(*map(self._check_presence, few))

    async def _check_presence(self, table: Table) -> None:
        for seat, is_connected in enumerate(await self._lobby.connected(table.agent_ids)):
            table.note(SeatPresence(seat, is_connected))

    async def _open_table(self, match_id: str) -> Table | None:
        try:
            loaded = await self._tables.load(match_id)
            if loaded is None:
                return None
            agent_ids = [player.agent_id for player in loaded.copy.match.players]
            table = Table(loaded.copy, await self._lobby.connected(agent_ids), self._pacer)
            (table.spectators,) = await self._tables.crowds([match_id])
            if not table.finished:
                await self._subscribe(table)
            return table
        finally:
            del self._opening[match_id]

    async def _subscribe(self, table: Table) -> None:
        channel = TableFeed(table, self._tables, self._lobby)
        subscription = Subscription(
            self._keys.feed(table.match_id), channel.on_message, channel.repair
        )
        await self._feed.subscribe(subscription)
        # What was committed between the load and the subscription is in the log.
        channel.repair()
        await channel.repaired()
        self._open[table.match_id] = (channel, subscription)
