"""Keep the lobby: who waits, who sits where, who has how much HP, which matches there are.

HP moves twice a match and exactly once each time: `form` stakes the fees in the step that takes
the agents from the queue, and `book` pays out in the step that closes the match's stakes.
"""

from collections.abc import Sequence
from typing import Literal

import msgspec

from protocol.messages import AgentId, ListedAgent, ListedMatch, MatchId

from .keys import Keys
from .link import Link, Script
from .wire import Argument

_ENTER = Script("enter")
_VOUCH = Script("vouch")
_JOIN = Script("join")
_LEAVE = Script("leave")
_WAITING = Script("waiting")
_FORM = Script("form")
_FORMED = Script("formed")
_BOOK = Script("book")
_GRANT = Script("grant")
_ANNOUNCE = Script("announce")

PRESENCE_LEASE_MS = 15_000  # how long a hub vouches for an agent's connection at a time
WAITING_LIMIT = 400  # agents looked at when a table is formed: the longest waiting


class JoinRequest(msgspec.Struct, frozen=True, array_like=True):
    """What an agent asked for when it joined; fees in HP."""

    name: str
    client_seed: str
    fee_min: int
    fee_max: int
    continuous: bool


class Standing(msgspec.Struct, frozen=True):
    """Where an agent stands as it connects; `first` if no other socket of it is open."""

    hp: int
    match_id: MatchId | None
    queued: bool
    first: bool


class InQueue(msgspec.Struct, frozen=True):
    """A join was taken: the place in the queue, from 1, and how many wait."""

    position: int
    waiting: int


class NotQueued(msgspec.Struct, frozen=True):
    """A join was refused; `detail` is the match the agent sits in, or its HP."""

    reason: Literal["already_queued", "already_seated", "insufficient_hp"]
    detail: str = ""


class Waiting(msgspec.Struct, frozen=True):
    """An agent that waits and is connected."""

    agent_id: AgentId
    ticket: bytes
    request: JoinRequest
    hp: int


class Member(msgspec.Struct, frozen=True, array_like=True):
    """An agent of a party."""

    agent_id: AgentId
    name: str
    client_seed: str


class Party(msgspec.Struct, frozen=True, array_like=True):
    """Agents that get a table together, at a fee in HP."""

    entry_fee_hp: int
    members: tuple[Member, ...]


class Formed(msgspec.Struct, frozen=True, array_like=True):
    """A party whose fees are staked; `balances_hp` is what each member has left."""

    party: Party
    balances_hp: tuple[int, ...]


class Result(msgspec.Struct, frozen=True):
    """What a match pays one agent."""

    agent_id: AgentId
    payout_hp: int
    won: bool


class Seated(msgspec.Struct, frozen=True, tag=True):
    """Notice on the lobby's channel: a match has started, and who plays."""

    match: ListedMatch
    agent_ids: tuple[AgentId, ...]


class Closed(msgspec.Struct, frozen=True, tag=True):
    """Notice on the lobby's channel: a match's result is booked."""

    match: ListedMatch


class Broke(msgspec.Struct, frozen=True, tag=True):
    """Notice on the lobby's channel: these agents can't pay to join again."""

    agent_ids: tuple[AgentId, ...]


Notice = Seated | Closed | Broke

_request = msgspec.msgpack.Decoder(JoinRequest)
_formed = msgspec.msgpack.Decoder(tuple[bytes, tuple[int, ...]])
_party = msgspec.msgpack.Decoder(Party)
_row = msgspec.msgpack.Decoder(ListedMatch)
read_notice = msgspec.msgpack.Decoder(Notice).decode
_pack = msgspec.msgpack.Encoder().encode


class Lobby:
    """The lobby of one store."""

    def __init__(
        self, link: Link, keys: Keys, starting_hp: int, *, lease_ms: int = PRESENCE_LEASE_MS
    ) -> None:
        self.lease_ms = lease_ms
        self._link = link
        self._keys = keys
        self._starting_hp = starting_hp

    # ---- Agents

    async def enter(self, agent_id: AgentId, name: str, hub_id: str) -> Standing:
        """Note that an agent is connected to a hub; its first visit brings its starting HP."""
        keys = self._keys
        hp, match_id, ticket, first = await self._link.run(
            _ENTER,
            [keys.balances, keys.names, keys.seats, keys.queue, keys.presence(agent_id)],
            *(agent_id, name, self._starting_hp, hub_id, self.lease_ms),
        )
        seat = MatchId(match_id.decode()) if match_id else None
        return Standing(int(float(hp)), seat, ticket is not None, first == 1)

    async def vouch(self, agent_id: str, hub_id: str, *, connected: bool) -> bool:
        """Renew or end a hub's word that an agent is connected; whether any hub vouches for it."""
        lease_ms = self.lease_ms if connected else 0
        keys = [self._keys.presence(agent_id)]
        return int(await self._link.run(_VOUCH, keys, hub_id, lease_ms)) > 0

    async def connected(self, agent_ids: Sequence[str]) -> list[bool]:
        """Tell which agents are connected to some hub."""
        calls = [self._link.call("EXISTS", self._keys.presence(each)) for each in agent_ids]
        return [await call == 1 for call in calls]

    async def announce(self, agent_id: str, match_id: str, seat: int) -> None:
        """Tell every hub that follows a table whether a seat's agent is connected."""
        keys = self._keys
        await self._link.run(_ANNOUNCE, [keys.presence(agent_id)], keys.feed(match_id), seat)

    async def seats(self, agent_ids: Sequence[str]) -> list[MatchId | None]:
        """Tell which match each agent sits in."""
        if not agent_ids:
            return []
        found = await self._link.call("HMGET", self._keys.seats, *agent_ids)
        return [MatchId(match_id.decode()) if match_id else None for match_id in found]

    async def grant(self, agent_id: str, hp: int) -> tuple[int, int]:
        """Add HP, or take some but never below 0; the HP before and after."""
        before, after = await self._link.run(
            _GRANT, [self._keys.balances, self._keys.board], agent_id, hp, self._starting_hp
        )
        return int(before), int(after)

    # ---- Queue

    async def join(self, agent_id: str, request: JoinRequest) -> InQueue | NotQueued:
        """Queue an agent."""
        keys = self._keys
        reply = await self._link.run(
            _JOIN,
            [keys.queue, keys.requests, keys.rejoins, keys.counters, keys.seats, keys.balances],
            *(agent_id, _pack(request), request.fee_min, int(request.continuous)),
        )
        match reply:
            case [b"queued", position, waiting]:
                return InQueue(position, waiting)
            case [reason, *detail]:
                return NotQueued(reason.decode(), detail[0].decode() if detail else "")
        raise AssertionError(reply)

    async def leave(self, agent_id: str) -> None:
        """Take an agent out of the queue, and let it not join again by itself."""
        keys = self._keys
        await self._link.run(_LEAVE, [keys.queue, keys.requests, keys.rejoins], agent_id)

    async def waiting(self) -> list[Waiting]:
        """List connected agents that wait, first come first."""
        keys = self._keys
        reply = await self._link.run(
            _WAITING,
            [keys.queue, keys.requests, keys.balances, keys.presence("")],
            WAITING_LIMIT,
        )
        return [
            Waiting(AgentId(agent.decode()), ticket, _request.decode(request), int(float(hp)))
            for agent, ticket, request, hp in zip(*[iter(reply)] * 4, strict=True)
        ]

    async def count_waiting(self) -> int:
        """Count the agents in the queue."""
        return int(await self._link.call("ZCARD", self._keys.queue))

    # ---- Tables

    async def form(
        self, match_id: MatchId, party: Party, tickets: Sequence[bytes]
    ) -> Formed | None:
        """Seat a party and stake its fees; None if one has left the queue or can't pay."""
        keys = self._keys
        agents: list[Argument] = []
        for member, ticket in zip(party.members, tickets, strict=True):
            agents += (member.agent_id, ticket)
        formed = await self._link.run(
            _FORM,
            [
                *(keys.queue, keys.requests, keys.rejoins, keys.counters, keys.seats),
                *(keys.balances, keys.forming, keys.stakes, keys.index, keys.board),
                keys.matches_of_agent(""),
            ],
            *(match_id, party.entry_fee_hp, _pack(party), *agents),
        )
        return None if formed is None else _read_formed(formed)

    async def forming(self) -> dict[MatchId, Formed]:
        """List the tables whose match has yet to be created."""
        pairs = await self._link.call("HGETALL", self._keys.forming)
        return {
            MatchId(match_id.decode()): _read_formed(packed)
            for match_id, packed in zip(*[iter(pairs)] * 2, strict=True)
        }

    async def formed(self, row: ListedMatch) -> None:
        """Close the forming of a table and tell every hub who sits there."""
        keys = self._keys
        seated = Seated(row, tuple(player.agent_id for player in row.players))
        await self._link.run(
            _FORMED,
            [keys.forming, keys.live, keys.rows, keys.lobby_feed, keys.stakes],
            *(row.match_id, _pack(row), _pack(seated)),
        )

    async def book(self, row: ListedMatch, results: Sequence[Result], platform_hp: int) -> bool:
        """Book a match's result; False if that was done before."""
        keys = self._keys
        per_seat: list[Argument] = []
        for result in results:
            per_seat += (result.agent_id, result.payout_hp, int(result.won))
        booked = await self._link.run(
            _BOOK,
            [
                *(keys.stakes, keys.balances, keys.seats, keys.live, keys.rows),
                *(keys.queue, keys.requests, keys.rejoins, keys.counters, keys.board),
                *(keys.matches, keys.wins, keys.lobby_feed, keys.index, keys.finished),
            ],
            *(row.match_id, _pack(row), _pack(Closed(row)), int(row.entry_fee_hp > 0)),
            *(platform_hp, *per_seat),
        )
        return bool(booked)

    # ---- Lists

    async def live(self) -> list[MatchId]:
        """List the matches under way."""
        return [
            MatchId(each.decode()) for each in await self._link.call("SMEMBERS", self._keys.live)
        ]

    async def rows(self, match_ids: Sequence[str]) -> list[ListedMatch]:
        """Read the list rows of matches, leaving out unknown ones."""
        if not match_ids:
            return []
        packed = await self._link.call("HMGET", self._keys.rows, *match_ids)
        return [_row.decode(each) for each in packed if each]

    async def leaderboard(self, offset: int, limit: int) -> list[ListedAgent]:
        """List agents that have played a ranked match, most HP first."""
        keys = self._keys
        found = await self._link.call(
            "ZREVRANGE", keys.board, offset, offset + limit - 1, "WITHSCORES"
        )
        agents = found[::2]
        if not agents:
            return []
        calls = [
            self._link.call("HMGET", key, *agents) for key in (keys.names, keys.matches, keys.wins)
        ]
        names, matches, wins = [await call for call in calls]
        return [
            ListedAgent(
                agent_id=AgentId(agent.decode()),
                name=name.decode(),
                hp=int(float(hp)),
                matches=int(played),
                wins=int(won),
            )
            for agent, hp, name, played, won in zip(
                agents, found[1::2], names, matches, wins, strict=True
            )
        ]

    async def total_hp(self) -> int:
        """Add up all balances, stakes and platform fees: what only grants and newcomers change."""
        keys = self._keys
        calls = [
            self._link.call("ZRANGE", keys.balances, 0, -1, "WITHSCORES"),
            self._link.call("HVALS", keys.stakes),
            self._link.call("HGET", keys.counters, "platform_fees"),
        ]
        balances, stakes, fees = [await call for call in calls]
        return sum(int(float(hp)) for hp in balances[1::2]) + sum(map(int, stakes)) + int(fees or 0)


def _read_formed(packed: bytes) -> Formed:
    party, balances_hp = _formed.decode(packed)
    return Formed(_party.decode(party), balances_hp)
