"""What tests of the store and of its users share: a hub's parts without its sockets, and tables."""

import asyncio
import itertools
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from importlib import resources
from typing import Any

from hypothesis import HealthCheck, settings

from hub.lobby.matchmaker import Matchmaker
from hub.lobby.presence import Hall
from hub.metrics import Metrics
from hub.rules import match as rules
from hub.rules.match import Contender, Match, Moment
from hub.settings import Settings
from hub.sockets.outbox import Batch
from hub.store.feed import Feed, Subscription
from hub.store.keys import Keys
from hub.store.link import Link
from hub.store.lobby import InQueue, JoinRequest, Lobby
from hub.store.stamps import AT_COMMIT
from hub.store.tables import Committed, Record, TableCopy, Tables, record_key
from hub.tables.deadlines import Clock
from hub.tables.referee import Referee, Refusal
from hub.tables.subscriptions import Relay
from protocol.codec import decode_event, decode_server
from protocol.messages import (
    Action,
    AgentId,
    AnyEvent,
    Event,
    ListedMatch,
    MatchId,
    Placed,
    PlaceParams,
    Presence,
    ServerMessage,
    Snapshot,
)

PATIENCE_SECONDS = 20.0  # after which a test that waits in vain fails

SEED = bytes(range(32))
AGENTS = tuple(AgentId(name) for name in ("ana", "bo", "cy", "dee"))
NAME_OF = {agent_id: agent_id.title() for agent_id in AGENTS}

# Time on a shared machine says nothing, and each example has a match or an agent of its own.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

LONG_MS = 600_000  # a turn, a lease or a silence that never ends in a test

SCRIPTS = [
    script.read_bytes()
    for script in (resources.files("hub.store") / "scripts").iterdir()
    if script.name.endswith(".lua")
]

_ids = itertools.count()


class Parts:
    """One hub without sockets; nothing runs by itself but what a test starts."""

    def __init__(
        self,
        url: str,
        keys: Keys,
        *,
        turn_ms: int = LONG_MS,
        lease_ms: int = LONG_MS,
        outage_ms: int = LONG_MS,
        presence_ms: int = LONG_MS,
        fee_bps: int = 0,
        answer_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        chosen = Settings(turn_ms=turn_ms, away_ms=turn_ms, platform_fee_bps=fee_bps)
        self.id = f"hub-{secrets.token_hex(4)}"
        self.keys = keys
        self.link = Link(f"{url}&client_name={self.id}", answer_seconds=answer_seconds)
        self.tables = Tables(self.link, keys, lease_ms=lease_ms, outage_ms=outage_ms)
        self.lobby = Lobby(self.link, keys, chosen.starting_hp, lease_ms=presence_ms)
        self.feed = Feed(self.link, keys.probe(self.id))
        self.metrics = Metrics()
        self._tasks: list[asyncio.Task[None]] = []
        self.relay = Relay(
            self.id,
            tables=self.tables,
            lobby=self.lobby,
            feed=self.feed,
            keys=keys,
            metrics=self.metrics,
        )
        self.referee = Referee(self.tables, self.relay.copy)
        self.matchmaker = Matchmaker(self.lobby, self.tables, chosen)
        self.clock = Clock(self.tables, self.lobby, self.referee, self.matchmaker, self.metrics)
        self.hall = Hall(
            self.id,
            lobby=self.lobby,
            tables=self.tables,
            relay=self.relay,
            feed=self.feed,
            keys=keys,
        )

    async def join(
        self,
        agent_id: AgentId,
        fees: tuple[int, int] = (10, 10),
        *,
        continuous: bool = False,
    ) -> None:
        """Let an agent in and queue it."""
        await self.lobby.enter(agent_id, agent_id.title(), self.id)
        request = JoinRequest(agent_id.title(), f"salt of {agent_id}", *fees, continuous)
        assert isinstance(await self.matchmaker.join(agent_id, request), InQueue)

    async def seat(
        self, agents: Sequence[AgentId] = AGENTS, fee: int = 10, *, continuous: bool = False
    ) -> MatchId:
        """Queue four agents and seat them."""
        for agent_id in agents:
            await self.join(agent_id, (fee, fee), continuous=continuous)
        await self.matchmaker.sweep()
        (match_id,) = set(await self.lobby.seats(agents))
        assert match_id is not None
        return match_id

    async def match(self, match_id: str) -> Match:
        """Read a match that exists."""
        loaded = await self.tables.load(match_id)
        assert loaded is not None
        return loaded.copy.match

    async def subscribers(self) -> list[str]:
        """List the server's ids of this hub's subscriber connections."""
        clients: bytes = await self.link.call("CLIENT", "LIST", "TYPE", "pubsub")
        return [
            line.split()[0].removeprefix("id=")
            for line in clients.decode().splitlines()
            if f" name={self.id} " in line
        ]

    async def cut_feed(self, other: "Parts", *meanwhile: Awaitable[object]) -> None:
        """Cut another hub's feed, and do at once what it is not to hear of."""
        (id,) = await other.subscribers()
        await asyncio.gather(*(self.link.call("SCRIPT", "LOAD", source) for source in SCRIPTS))

        async def cut() -> None:
            await self.link.call("CLIENT", "KILL", "ID", id)

        before = self.link.round_trips
        await asyncio.gather(cut(), *meanwhile)
        assert self.link.round_trips == before + 1  # the server had no time for anything between

    def count(self, name: str, **labels: str) -> float:
        """Read one of the hub's counters."""
        return self.metrics.registry.get_sample_value(f"vegas_{name}_total", labels) or 0.0

    async def tick_until_over(self, match_id: MatchId, *others: "Parts") -> None:
        """Let hubs look at the clock at once, again and again, until a match is booked."""
        slot = self.tables.slot(match_id)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await self.lobby.live() or await self.tables.unbooked(slot):
                await asyncio.gather(*(hub.clock.tick() for hub in (self, *others)))

    async def platform_fees(self) -> int:
        return int(await self.link.call("HGET", self.keys.counters, "platform_fees") or 0)

    async def balances(self, agents: Sequence[str] = AGENTS) -> list[int]:
        return [(await self.lobby.grant(agent_id, 0))[0] for agent_id in agents]

    async def play_out(self, match_id: MatchId) -> None:
        """Play a match to its end."""
        match = await self.match(match_id)
        while match.current_seat is not None:
            with suppress(Refusal):  # a clock may have been faster
                await self.referee.place(*turn_of(match))
            match = await self.match(match_id)

    async def events(self, match_id: str) -> list[AnyEvent]:
        """Read a match's log."""
        return [decode_event(packed, "msgpack") for packed in await self.tables.log(match_id, 1)]

    async def listen(self) -> None:
        """Run the feed from now on."""
        if self.feed.live:
            return
        await self.feed.start()
        self.run(self.feed.run())

    def run(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run something until the test ends."""
        task = asyncio.create_task(work)
        self._tasks.append(task)
        return task

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.link.close()


def new_match(
    match_id: str | None = None,
    *,
    turn_ms: int = LONG_MS,
    fee: int = 10,
    moment: Moment = AT_COMMIT,
) -> tuple[Match, tuple[AnyEvent, ...]]:
    """Start a match of AGENTS that has yet to be committed."""
    return rules.start(
        MatchId(match_id or f"m{next(_ids)}"),
        [Contender(agent_id, NAME_OF[agent_id], "", 90) for agent_id in AGENTS],
        rules.standard_config(turn_ms, turn_ms),
        fee,
        0,
        SEED,
        moment,
    )


async def create(tables: Tables, *, turn_ms: int = LONG_MS) -> Match:
    """Create a match of AGENTS; as it was committed."""
    match, events = new_match(turn_ms=turn_ms)
    assert await tables.commit(match, events, server_seed=SEED) == Committed(None)
    return await read(tables, match.match_id)


async def read(tables: Tables, match_id: str) -> Match:
    loaded = await tables.load(match_id)
    assert loaded is not None
    return loaded.copy.match


def placed(
    match: Match, message: str = "", moment: Moment = AT_COMMIT
) -> tuple[Match, tuple[AnyEvent, ...]]:
    """Place the lowest face for the seat to act, by the rules alone."""
    assert match.current_seat is not None
    return rules.place(
        match,
        SEED,
        seat=match.current_seat,
        turn=match.turn,
        face=match.roll[0],
        nonce="",
        message=message,
        moment=moment,
    )


async def place(tables: Tables, match: Match, id: str | None = None) -> Match:
    """Commit a placement for the seat to act; the match as it was committed."""
    agent_id, _ = turn_of(match)
    record = record_of(match, AT_COMMIT.now_ms - match.rolled_at)
    outcome = await tables.commit(*placed(match), key=record_key(agent_id, id), record=record)
    assert isinstance(outcome, Committed)
    return await read(tables, match.match_id)


def record_of(match: Match, think_ms: int = 0, digest: bytes = b"digest") -> Record:
    """Make the record of a placement that is the match's next event."""
    return Record(digest, match.turn, match.seq + 1, think_ms)


def turn_of(
    match: Match, *, face: int | None = None, id: str | None = None, message: str = ""
) -> tuple[AgentId, Action]:
    """Name the agent to act, and an action of its that places the lowest face."""
    assert match.current_seat is not None
    action = Action(
        id=id,
        match_id=match.match_id,
        turn=match.turn,
        action="place",
        params=PlaceParams(face=match.roll[0] if face is None else face, message=message),
    )
    return match.players[match.current_seat].agent_id, action


def copy_of(match: Match) -> TableCopy:
    return TableCopy(match, SEED)


def placements(events: Sequence[AnyEvent]) -> list[Placed]:
    return [event for event in events if isinstance(event, Placed)]


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop run until something is so that no event tells of."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0)


class Heard:
    """Something that grows, and that a test waits for."""

    def __init__(self) -> None:
        self._grown = asyncio.Event()

    def grow(self) -> None:
        self._grown.set()

    async def grown(self) -> None:
        """Wait until it has grown since the last time."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self._grown.wait()
        self._grown.clear()


class Ear(Heard):
    """A subscription that keeps what it hears."""

    def __init__(self, channel: str) -> None:
        super().__init__()
        self.messages: list[bytes] = []
        self.resumed = 0
        self.subscription = Subscription(channel, self._hear, self._resume)

    async def hear(self, count: int) -> list[bytes]:
        """Wait for that many messages in all."""
        while len(self.messages) < count:
            await self.grown()
        return self.messages

    async def resume(self, times: int = 1) -> None:
        """Wait until the feed has come back that often in all."""
        while self.resumed < times:
            await self.grown()

    def _hear(self, message: bytes) -> None:
        self.messages.append(message)
        self.grow()

    def _resume(self) -> None:
        self.resumed += 1
        self.grow()


class Viewer(Heard):
    """An agent's socket that follows a table and keeps what it gets."""

    def __init__(self) -> None:
        super().__init__()
        self.agent_id = AgentId("viewer")
        self.messages: list[ServerMessage] = []
        self.over: list[MatchId] = []

    def deliver(self, batch: Batch) -> None:
        for packed in batch._packed:
            message = decode_server(packed, "msgpack")
            assert message is not None
            self.messages.append(message)
        self.grow()

    def ended(self, match_id: MatchId) -> None:
        self.over.append(match_id)
        self.grow()

    @property
    def seqs(self) -> list[int]:
        """List the numbers of the events that came."""
        return [message.seq for message in self.messages if isinstance(message, Event)]

    @property
    def snapshots(self) -> list[Snapshot]:
        return [message for message in self.messages if isinstance(message, Snapshot)]

    @property
    def presence(self) -> list[tuple[int, bool]]:
        """List each seat that came or went, and which it was."""
        return [(each.seat, each.connected) for each in self.messages if isinstance(each, Presence)]

    async def see(self, seq: int) -> None:
        """Wait for an event."""
        while seq not in self.seqs:
            await self.grown()

    async def see_presence(self, seat: int, connected: bool) -> None:
        """Wait until a seat was last seen to be so."""
        while (seat, connected) not in self.presence[-1:]:
            await self.grown()

    async def end(self) -> None:
        """Wait for the end of a match."""
        while not self.over:
            await self.grown()


def listed(match_id: str = "m0", **fields: object) -> ListedMatch:
    """Make a row of a list of matches."""
    defaults: dict[str, object] = {
        "match_id": match_id,
        "status": "playing",
        "round": 1,
        "turn": 1,
        "players": (),
        "entry_fee_hp": 10,
        "started_at": 1,
        "finished_at": None,
        "winner_seat": None,
        "spectators": 0,
    }
    return ListedMatch(**{**defaults, **fields})  # type: ignore[arg-type]
