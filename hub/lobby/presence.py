"""Know who is here: this hub's agents and lobby spectators, and what the lobby tells them.

A hub vouches in the store for each agent that has a socket here, by a lease that it renews. So
every hub knows who can be seated, and a dead hub's agents are absent when its leases run out.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Protocol, TypeVar

from hub.loops import spread
from hub.rules.match import seat_of
from hub.rules.table import list_row
from hub.store.feed import Feed, Subscription
from hub.store.keys import Keys
from hub.store.link import store_permitting
from hub.store.lobby import (
    Broke,
    Closed,
    Lobby,
    Seated,
    Standing,
    read_notice,
)
from hub.store.tables import Tables
from hub.tables.subscriptions import Relay
from protocol.messages import (
    AgentId,
    Error,
    ErrorCode,
    ListedMatch,
    MatchClosed,
    MatchId,
    MatchListed,
    Message,
)
from protocol.messages import Lobby as LobbyMessage

RENEWALS = 3  # in the time of a lease: two may fail before it runs out

RETRY_SECONDS = 0.2  # between attempts to ask while the store is away

T = TypeVar("T")


class LobbySpectator(Protocol):
    """A socket that watches the lobby."""

    def send(self, message: Message) -> None:
        """Pass a message on."""


class AgentSocket(Protocol):
    """A socket of an agent."""

    agent_id: AgentId

    def send(self, message: Message) -> None:
        """Pass a message on."""

    def seat(self, match_id: MatchId) -> None:
        """Follow a match from its first event, unless that is so already."""


class Hall:
    """The lobby, as one hub and its sockets see it."""

    def __init__(
        self, hub_id: str, *, lobby: Lobby, tables: Tables, relay: Relay, feed: Feed, keys: Keys
    ) -> None:
        self.hub_id = hub_id
        self.spectators: set[LobbySpectator] = set()
        self._arriving: set[LobbySpectator] = set()
        self._since: dict[object, list[Message]] = {}  # what was heard during each read
        self._agents: dict[AgentId, set[AgentSocket]] = {}
        self._lobby = lobby
        self._tables = tables
        self._relay = relay
        self._feed = feed
        self._channel = keys.lobby_feed
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Hear the lobby's channel from now on."""
        await self._feed.subscribe(Subscription(self._channel, self._hear, self._resume))

    async def enter(self, socket: AgentSocket, name: str) -> Standing:
        """Take an agent's socket in, and say where the agent stands."""
        self._agents.setdefault(socket.agent_id, set()).add(socket)
        standing = await self._lobby.enter(socket.agent_id, name, self.hub_id)
        if standing.first and standing.match_id is not None:
            await self._announce(socket.agent_id, standing.match_id)
        return standing

    async def leave(self, socket: AgentSocket) -> None:
        """Let an agent's socket go."""
        sockets = self._agents[socket.agent_id]
        sockets.discard(socket)
        if sockets:
            return
        del self._agents[socket.agent_id]
        with store_permitting():  # the lease runs out by itself
            await self._part(socket.agent_id)

    async def run(self) -> None:
        """Renew the leases of the agents here, until cancelled."""
        while True:
            async for agent_ids in spread(self._agents, self._lobby.lease_ms / 1000 / RENEWALS):
                with store_permitting():
                    await asyncio.gather(
                        *(
                            self._lobby.vouch(agent_id, self.hub_id, connected=True)
                            for agent_id in agent_ids
                            if agent_id in self._agents  # still
                        )
                    )

    def arrive(self, spectator: LobbySpectator) -> None:
        """Send a new spectator an overview of the lobby, and then all that follows it."""
        self._arriving.add(spectator)
        self.show(spectator)

    def depart(self, spectator: LobbySpectator) -> None:
        """Send a spectator nothing more."""
        self._arriving.discard(spectator)
        self.spectators.discard(spectator)

    def show(self, spectator: LobbySpectator) -> None:
        """Send one spectator an overview of the lobby."""
        self._start(self._show([spectator]))

    async def overview(self) -> LobbyMessage:
        """Show the live matches and how many agents wait."""
        live, waiting = await asyncio.gather(self._lobby.live(), self._lobby.count_waiting())
        return LobbyMessage(live=tuple(await self.rows(live)), waiting=waiting)

    async def rows(self, match_ids: Sequence[MatchId]) -> list[ListedMatch]:
        """List matches as they are now; unknown ones are left out."""
        matches, listed, crowds = await asyncio.gather(
            self._tables.public(match_ids),
            self._lobby.rows(match_ids),
            self._tables.crowds(match_ids),
        )
        finished_at = {each.match_id: each.finished_at for each in listed}
        return [
            list_row(match, finished_at=finished_at.get(match.match_id), spectators=spectators)
            for match, spectators in zip(matches, crowds, strict=True)
            if match is not None
        ]

    async def _part(self, agent_id: AgentId) -> None:
        """Stop vouching for an agent whose last socket here has gone."""
        if not await self._lobby.vouch(agent_id, self.hub_id, connected=False):
            (match_id,) = await self._lobby.seats([agent_id])
            if match_id is not None:
                await self._announce(agent_id, match_id)

    async def _announce(self, agent_id: AgentId, match_id: MatchId) -> None:
        table = await self._relay.open(match_id)
        seat = None if table is None else seat_of(table.match, agent_id)
        if seat is not None:
            await self._lobby.announce(agent_id, match_id, seat)

    def _hear(self, message: bytes) -> None:
        notice = read_notice(message)
        match notice:
            case Seated():
                self._seat(notice)
                self._tell_spectators(MatchListed(match=notice.match))
            case Closed():
                self._tell_spectators(MatchClosed(match=notice.match))
            case Broke():
                self._tell_broke(notice)

    def _seat(self, notice: Seated) -> None:
        for agent_id in notice.agent_ids:
            for socket in self._agents.get(agent_id, ()):
                socket.seat(notice.match.match_id)

    def _tell_spectators(self, message: Message) -> None:
        for spectator in self.spectators:
            spectator.send(message)
        for heard in self._since.values():
            heard.append(message)

    def _tell_broke(self, notice: Broke) -> None:
        refusal = Error(
            code=ErrorCode.INSUFFICIENT_HP,
            message="you can't pay your lowest fee any more: join with a lower one",
        )
        for agent_id in notice.agent_ids:
            for socket in self._agents.get(agent_id, ()):
                socket.send(refusal)

    def _resume(self) -> None:
        self._start(self._catch_up())

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _show(self, spectators: Iterable[LobbySpectator]) -> None:
        """Send an overview, and again what was heard while it was read: it may not be in there."""
        reading = object()
        heard = self._since[reading] = []
        overview = await self._insist(self.overview)
        del self._since[reading]
        for spectator in spectators:
            for message in (overview, *heard):
                spectator.send(message)
            if spectator in self._arriving:
                self._arriving.discard(spectator)
                self.spectators.add(spectator)

    async def _catch_up(self) -> None:
        """Find out what the lobby may have said while its channel was not heard."""
        agent_ids = list(self._agents)
        seats = await self._insist(lambda: self._lobby.seats(agent_ids))
        for agent_id, match_id in zip(agent_ids, seats, strict=True):
            for socket in self._agents.get(agent_id, ()):
                if match_id is not None:
                    socket.seat(match_id)
        await self._show(list(self.spectators))

    async def _insist(self, ask: Callable[[], Awaitable[T]]) -> T:
        while True:
            with store_permitting():
                return await ask()
            await asyncio.sleep(RETRY_SECONDS)
