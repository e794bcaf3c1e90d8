"""A table as one hub has it: the match as of an event, and the sockets here that follow it."""

import asyncio
from typing import Protocol

from msgspec.structs import replace

from hub.metrics import Metrics
from hub.rules.match import Match, table_state
from hub.sockets.fanout import Crowd, Pacer
from hub.sockets.outbox import Batch, Outbox
from hub.store.tables import CrowdSize, SeatPresence, TableCopy, Update, read_match
from protocol.codec import glance
from protocol.messages import AgentId, CloseCode, MatchId, Presence, Snapshot
from protocol.messages import Crowd as CrowdMessage


class Follower(Protocol):
    """An agent's socket that follows tables."""

    agent_id: AgentId

    def deliver(self, batch: Batch) -> None:
        """Pass messages on."""

    def ended(self, match_id: MatchId) -> None:
        """Learn that a match has finished and everything about it was delivered."""


class Table:
    """A table as of event `seq`. Its agents are served at once, its spectators in passes."""

    def __init__(self, copy: TableCopy, connected: list[bool], pacer: Pacer) -> None:
        self.match_id = copy.match.match_id
        self.seq = copy.match.seq
        self.finished = copy.match.status == "finished"
        self.agent_ids = [player.agent_id for player in copy.match.players]  # by seat
        self.connected = connected
        self.crowd = Crowd(pacer)
        self.spectators = 0  # on all hubs
        self._metrics: Metrics = pacer.metrics
        self._agents: dict[Follower, None] = {}
        self._server_seed = copy.server_seed
        self._public: bytes | None = None  # what is newer than the match, packed
        self._match = copy.match

    @property
    def match(self) -> Match:
        """The match as of `seq`."""
        self._unpack()
        return self._match

    @property
    def copy(self) -> TableCopy:
        """What the referee needs to move the match."""
        return TableCopy(self.match, self._server_seed)

    @property
    def is_followed(self) -> bool:
        """Tell whether a socket here follows the table."""
        return bool(self._agents or len(self.crowd))

    def snapshot(self, id: str | None = None) -> Snapshot:
        """Show the table as of `seq`."""
        return Snapshot(
            id=id,
            match_id=self.match_id,
            seq=self.seq,
            state=table_state(self.match, self.connected),
            spectators=self.spectators,
        )

    def advance(self, update: Update) -> None:
        """Take the step that follows `seq` and pass its events on."""
        self.seq = update.seq
        self._public = update.public  # the old match stays for now: to let it go takes time, too
        self._metrics.events += len(update.events)
        self._publish(Batch(update.events))
        kind, seat = glance(update.events[-1])
        if kind == "match_finished":
            self._finish()
        elif seat is not None and self._is_here(self.agent_ids[seat]):
            # It is about to act: unpack while it thinks, after the writes of this turn.
            asyncio.get_running_loop().call_soon(self._unpack)

    def note(self, presence: SeatPresence) -> None:
        """Note that a seat's sockets came or went, and pass it on."""
        if self.connected[presence.seat] == presence.connected:
            return
        self.connected[presence.seat] = presence.connected
        message = Presence(match_id=self.match_id, seat=presence.seat, connected=presence.connected)
        self._publish(Batch.of(message))

    def resize(self, size: CrowdSize) -> None:
        """Note how many sockets watch on all hubs, and pass it on."""
        if self.spectators == size.spectators:
            return
        self.spectators = size.spectators
        message = CrowdMessage(match_id=self.match_id, spectators=size.spectators)
        self._publish(Batch.of(message))

    def seat(self, agent: Follower) -> None:
        """Pass everything after `seq` on to one more agent's socket."""
        self._agents[agent] = None

    def unseat(self, agent: Follower) -> None:
        """Pass nothing more on to an agent's socket."""
        self._agents.pop(agent, None)

    def catch_up(self, outbox: Outbox) -> None:
        """Let a spectator that was behind go on from a snapshot that says what it was spared."""
        snapshot = self.snapshot()

        def show(outbox: Outbox) -> None:
            if outbox.behind:
                outbox.resume()
                outbox.send(replace(snapshot, skipped=outbox.skipped))
                self._metrics.skipped += outbox.skipped
                outbox.skipped = 0
                outbox.flush()
                if self.finished:
                    say_goodbye(outbox)

        self.crowd.tell(outbox, show)

    def _is_here(self, agent_id: AgentId) -> bool:
        for agent in self._agents:  # noqa: SIM110 - any() costs a call for each of them
            if agent.agent_id == agent_id:
                return True
        return False

    def _unpack(self) -> None:
        if self._public is not None:
            self._match = read_match(self._public)
            self._public = None

    def _publish(self, batch: Batch) -> None:
        for agent in self._agents:
            agent.deliver(batch)
        self._metrics.deliveries += len(batch) * len(self._agents)
        self.crowd.publish(batch)

    def _finish(self) -> None:
        self.finished = True
        agents, self._agents = self._agents, {}
        for agent in agents:
            agent.ended(self.match_id)
        self.crowd.end(say_goodbye)


def say_goodbye(outbox: Outbox) -> None:
    """End a spectator's stream: its match has finished. One that is behind is shown that first."""
    if not outbox.behind:
        outbox.close(CloseCode.ENDED, "the match has ended", reconnect=False)
