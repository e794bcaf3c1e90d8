"""Pass each table's feed on to the sockets that follow it, without a gap or a repetition.

A hub follows a table while one of its sockets does. What the channel carries is applied in order
of `seq`; where it does not connect, the missing part is read from the log first.
"""

import asyncio
from typing import Protocol

import structlog

from hub.outbox import Batch
from hub.rules.match import Match, table_state
from hub.store.feed import Feed, Subscription
from hub.store.keys import Keys
from hub.store.link import StoreUnavailable
from hub.store.lobby import Lobby
from hub.store.tables import SeatPresence, TableCopy, Tables, Update, read_match, read_update
from protocol.messages import MatchId, Message, Presence, Snapshot

RETRY_SECONDS = 0.2  # between attempts to read the log while the store is away
LINGER_SECONDS = 10.0  # a table without sockets is kept this long: agents may be reconnecting

_log = structlog.get_logger()


class Follower(Protocol):
    """A socket that follows tables."""

    first: bool  # served before others: agents before spectators

    def deliver(self, batch: Batch) -> None:
        """Pass on public messages of one commit."""

    def send(self, message: Message) -> None:
        """Pass on a message of this socket's own."""

    def ended(self, match_id: MatchId) -> None:
        """Learn that a match has finished and everything about it was delivered."""


class Table:
    """A table as this hub has it, and the sockets here that follow it."""

    def __init__(self, copy: TableCopy, connected: list[bool]) -> None:
        self.match_id = copy.match.match_id
        self.seq = copy.match.seq
        self.connected = connected
        self.followers: list[Follower] = []
        self._server_seed = copy.server_seed
        self._public = b""
        self._match: Match | None = copy.match

    @property
    def match(self) -> Match:
        """The match as of `seq`."""
        if self._match is None:
            self._match = read_match(self._public)
        return self._match

    @property
    def copy(self) -> TableCopy:
        """What the referee needs to move the match."""
        return TableCopy(self.match, self._server_seed)

    @property
    def finished(self) -> bool:
        """Tell whether the match is over."""
        return self.match.status == "finished"

    def snapshot(self, id: str | None = None, skipped: int | None = None) -> Snapshot:
        """Show the table as of `seq`."""
        return Snapshot(
            id=id,
            match_id=self.match_id,
            seq=self.seq,
            state=table_state(self.match, self.connected),
            skipped=skipped,
        )

    def advance(self, update: Update) -> None:
        """Take the step that follows `seq` and pass its events on."""
        self.seq = update.seq
        self._public = update.public
        self._match = None
        self._deliver(Batch(update.events))
        if self.finished:
            for follower in self.followers:
                follower.ended(self.match_id)
            self.followers.clear()

    def note(self, presence: SeatPresence) -> None:
        """Note that a seat's sockets came or went, and pass it on."""
        if self.connected[presence.seat] == presence.connected:
            return
        self.connected[presence.seat] = presence.connected
        message = Presence(match_id=self.match_id, seat=presence.seat, connected=presence.connected)
        for follower in self.followers:
            follower.send(message)

    def add(self, follower: Follower) -> None:
        """Pass everything after `seq` on to one more socket."""
        if follower.first:
            self.followers.insert(0, follower)
        else:
            self.followers.append(follower)

    def _deliver(self, batch: Batch) -> None:
        for follower in self.followers:
            follower.deliver(batch)


class TableFeed:
    """One table's channel: puts what it carries in order and fills gaps from the log."""

    def __init__(self, table: Table, tables: Tables) -> None:
        self.table = table
        self._tables = tables
        self._waiting: list[Update] = []
        self._repair: asyncio.Task[None] | None = None

    def on_message(self, message: bytes) -> None:
        """Take what the channel carried."""
        carried = read_update(message)
        if isinstance(carried, SeatPresence):
            self.table.note(carried)
            return
        self._waiting.append(carried)
        self._apply()

    def repair(self) -> None:
        """Read from the store what may have been missed, and go on from there."""
        if self._repair is None:
            self._repair = asyncio.create_task(self._catch_up())

    async def repaired(self) -> None:
        """Wait until no repair is under way."""
        if self._repair is not None:
            await asyncio.shield(self._repair)

    def close(self) -> None:
        """Stop a repair that is under way."""
        if self._repair is not None:
            self._repair.cancel()

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
        while True:
            try:
                missed = await read_missed(self._tables, self.table)
                break
            except StoreUnavailable:
                await asyncio.sleep(RETRY_SECONDS)
        self._repair = None
        if missed is not None and missed.first_seq == self.table.seq + 1:
            _log.info("feed_repaired", match_id=self.table.match_id, events=len(missed.events))
            self.table.advance(missed)
        self._apply()


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

    def __init__(self, tables: Tables, lobby: Lobby, feed: Feed, keys: Keys) -> None:
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

    def spectators(self, match_id: str) -> int:
        """Count the sockets here that watch a table."""
        if match_id not in self._open:
            return 0
        return sum(not follower.first for follower in self._open[match_id][0].table.followers)

    async def open(self, match_id: str) -> Table | None:
        """Follow a table, if this hub does not yet; None if there is no such match."""
        if match_id in self._open:
            await self._open[match_id][0].repaired()
            return self._open[match_id][0].table
        if match_id not in self._opening:
            self._opening[match_id] = asyncio.create_task(self._open_table(match_id))
        return await asyncio.shield(self._opening[match_id])

    async def follow(self, table: Table, follower: Follower, after: int | None) -> None:
        """Give a socket all that comes after event `after`, or a snapshot and what follows it."""
        if after is None or after > table.seq:
            follower.send(table.snapshot())
            after = table.seq
        while after < table.seq:
            events = await self._tables.log(table.match_id, after + 1, table.seq)
            follower.deliver(Batch(events))
            after += len(events)
        # Between the last look at table.seq and this line nothing else runs.
        if table.finished:
            follower.ended(table.match_id)
        else:
            table.add(follower)

    def unfollow(self, table: Table, follower: Follower) -> None:
        """Stop giving a socket a table's events."""
        if follower in table.followers:
            table.followers.remove(follower)

    async def run(self) -> None:
        """Stop following tables that nobody here needs, until cancelled."""
        while True:
            await asyncio.sleep(LINGER_SECONDS)
            idle = {each for each, (feed, _) in self._open.items() if not feed.table.followers}
            for match_id in idle & self._idle:
                channel, subscription = self._open.pop(match_id)
                channel.close()
                await self._feed.unsubscribe(subscription)
            self._idle = idle

    async def _open_table(self, match_id: str) -> Table | None:
        try:
            loaded = await self._tables.load(match_id)
            if loaded is None:
                return None
            agent_ids = [player.agent_id for player in loaded.copy.match.players]
            table = Table(loaded.copy, await self._lobby.connected(agent_ids))
            if not table.finished:
                await self._subscribe(table)
            return table
        finally:
            del self._opening[match_id]

    async def _subscribe(self, table: Table) -> None:
        channel = TableFeed(table, self._tables)
        subscription = Subscription(
            self._keys.feed(table.match_id), channel.on_message, channel.repair
        )
        await self._feed.subscribe(subscription)
        # What was committed between the load and the subscription is in the log.
        channel.repair()
        await channel.repaired()
        self._open[table.match_id] = (channel, subscription)
