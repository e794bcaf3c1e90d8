"""Keep tables: create, load, commit, read logs, claim deadlines.

Results are values; an exception (StoreUnavailable) means that something broke.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from hub.rules.match import Match
from protocol.messages import AnyEvent, MatchId

from .keys import Keys
from .link import Link, Script
from .stamps import MARK, Stamp

_COMMIT = Script("commit")
_CLAIM = Script("claim")
_CROWD = Script("crowd")

LEASE_MS = 3_000  # how long a hub has for a claimed deadline before another may take it over
CLAIM_LIMIT = 200  # deadlines claimed at once from one slot
OUTAGE_MS = (
    1_000  # a silence of all hubs longer than this is made up for; they claim twice as often
)

CROWD_LEASE_MS = 15_000  # how long a hub's count of spectators holds; it is renewed sooner

Guard = Literal["before", "after", "any"]

_pack = msgspec.msgpack.Encoder().encode
_match = msgspec.msgpack.Decoder(Match)


class TableCopy(msgspec.Struct, frozen=True, gc=False):
    """A table as it was at event `match.seq`, with the seed of its dice."""

    match: Match
    server_seed: bytes


class Record(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """An action that was committed under an idempotency key; `digest` tells its content."""

    digest: bytes
    turn: int
    seq: int
    think_ms: int


class Committed(msgspec.Struct, frozen=True, gc=False):
    """The step was taken."""

    record: Record | None


class Conflict(msgspec.Struct, frozen=True, gc=False):
    """The table had moved on; this is what it is now."""

    copy: TableCopy | None


class Late(msgspec.Struct, frozen=True, gc=False):
    """The deadline has passed."""


class Early(msgspec.Struct, frozen=True, gc=False):
    """The deadline has yet to pass."""


class Extended(msgspec.Struct, frozen=True, gc=False):
    """An outage moves the deadline, and the players have yet to be told."""


class Replayed(msgspec.Struct, frozen=True, gc=False):
    """The key was used before, with this result."""

    record: Record


Outcome = Committed | Conflict | Late | Early | Extended | Replayed


class Loaded(msgspec.Struct, frozen=True, gc=False):
    """A table, and the record under the key that was asked for.

    `deadline_ms` is what counts; after an outage it is later than the one that the match knows of.
    """

    copy: TableCopy
    deadline_ms: int | None
    record: Record | None


class Claimed(msgspec.Struct, frozen=True, gc=False):
    """Tables whose deadline this hub is to act on, and when the slot's next one falls due."""

    match_ids: tuple[MatchId, ...]
    next_ms: int | None


_record = msgspec.msgpack.Decoder(Record)


class Update(msgspec.Struct, frozen=True, gc=False):
    """What a table's channel carries for one commit: its events from `first_seq`, and the state."""

    first_seq: int
    public: bytes
    events: tuple[bytes, ...]

    @property
    def seq(self) -> int:
        """Number of the last event."""
        return self.first_seq + len(self.events) - 1


class SeatPresence(msgspec.Struct, frozen=True, gc=False):
    """What a table's channel carries when a seat's sockets came or went."""

    seat: int
    connected: bool


class CrowdSize(msgspec.Struct, frozen=True, gc=False):
    """What a table's channel carries when the number of its spectators has changed."""

    spectators: int


_PRESENCE = 0  # stands where a commit has its first seq
_CROWD_SIZE = -1  # likewise


class Tables:
    """All tables of one store."""

    def __init__(
        self, link: Link, keys: Keys, *, lease_ms: int = LEASE_MS, outage_ms: int = OUTAGE_MS
    ) -> None:
        self._lease_ms = lease_ms
        self._outage_ms = outage_ms
        self.slots = range(keys.slots)
        self.slot = keys.slot
        self._link = link
        self._keys = keys

    async def commit(
        self,
        match: Match,
        events: Sequence[AnyEvent],
        *,
        guard: Guard = "any",
        known_deadline: int = 0,
        server_seed: bytes = b"",
        key: str = "",
        record: Record | None = None,
    ) -> Outcome:
        """Take a table to `match` by `events`, if it is still at the event before them.

        `guard` says on which side of the deadline this must be; `known_deadline` is the one that
        the players were told. `server_seed` is given for a new match only. `key` names the hash
        field under which `record` is kept (see `record_key`). One round trip.
        """
        match_id, before = match.match_id, match.seq - len(events)
        deadline: Any = match.deadline
        if isinstance(deadline, int):  # it stays as it is: now - deadline is never the greater
            deadline = Stamp(0, -deadline, deadline)
        plan = (self._outage_ms, known_deadline, deadline)
        reply = await self._link.run(
            _COMMIT,
            self._keys.of_commit(match_id),
            *(match_id, before, guard, key, server_seed),
            *(_pack(plan), MARK, _pack(match), _pack(record), *map(_pack, events)),
        )
        return _outcome(reply)

    async def load(self, match_id: str, key: str = "") -> Loaded | None:
        """Read a table, and the record under `key`; None if there is no such match."""
        public, secret, deadline, record = await self._link.call(
            "HMGET", self._keys.match(match_id), "public", "secret", "deadline", key
        )
        if public is None:
            return None
        return Loaded(
            _copy(public, secret),
            None if deadline is None else int(deadline),
            _record.decode(record) if key and record else None,
        )

    async def exists(self, match_id: str) -> bool:
        """Tell whether there is such a match."""
        return bool(await self._link.call("EXISTS", self._keys.match(match_id)))

    async def load_packed(self, match_id: str) -> tuple[int, bytes] | None:
        """Read the number of a table's last event and its public state, packed."""
        seq, public = await self._link.call("HMGET", self._keys.match(match_id), "seq", "public")
        return None if seq is None else (int(seq), public)

    async def public(self, match_ids: Sequence[str]) -> list[Match | None]:
        """Read many tables' public states; None where there is no such match."""
        replies = await asyncio.gather(
            *(
                self._link.call("HGET", self._keys.match(match_id), "public")
                for match_id in match_ids
            )
        )
        return [_match.decode(reply) if reply else None for reply in replies]

    async def log(self, match_id: str, first_seq: int, last_seq: int | None = None) -> list[bytes]:
        """Read the packed events from `first_seq` to `last_seq`, by default to the end."""
        end = "+" if last_seq is None else f"{last_seq}-0"
        entries = await self._link.call("XRANGE", self._keys.log(match_id), f"{first_seq}-0", end)
        return [fields[1] for _, fields in entries]

    async def last_event(self, match_id: str) -> bytes | None:
        """Read a match's newest packed event; None if there is no such match."""
        newest = ("XREVRANGE", self._keys.log(match_id), "+", "-", "COUNT", 1)
        entries = await self._link.call(*newest)
        return entries[0][1][1] if entries else None

    async def count_crowd(self, match_id: str, hub_id: str, here: int) -> int:
        """Note how many spectators a hub has, for CROWD_LEASE_MS; how many there are in all."""
        keys = [self._keys.crowd(match_id), self._keys.feed(match_id)]
        return int(await self._link.run(_CROWD, keys, hub_id, here, CROWD_LEASE_MS))

    async def crowds(self, match_ids: Sequence[str]) -> list[int]:
        """Read how many spectators tables have on all hubs."""
        calls = [self._link.call("HGET", self._keys.crowd(each), "total") for each in match_ids]
        return [int(total or 0) for total in await asyncio.gather(*calls)]

    async def claim(self, slot: int) -> Claimed:
        """Claim what is due in a slot, for as long as a lease lasts."""
        wait_ms, *due = await self._link.run(
            _CLAIM,
            [self._keys.due(slot), self._keys.pulse(slot), self._keys.matches_of(slot)],
            *(self._lease_ms, CLAIM_LIMIT, self._outage_ms),
        )
        return Claimed(
            tuple(MatchId(match_id.decode()) for match_id in due),
            None if wait_ms < 0 else int(wait_ms),
        )

    async def unbooked(self, slot: int) -> list[MatchId]:
        """List finished matches whose result the lobby has yet to book."""
        members = await self._link.call("SMEMBERS", self._keys.outbox(slot))
        return [MatchId(member.decode()) for member in members]

    async def delete(self, match_id: str) -> None:
        """Delete a finished match: its record and its log."""
        await self._link.call("UNLINK", self._keys.match(match_id), self._keys.log(match_id))

    async def mark_booked(self, match_id: str) -> None:
        """Take a match off the list of unbooked results."""
        await self._link.call("SREM", self._keys.outbox(self._keys.slot(match_id)), match_id)


def record_key(agent_id: str, action_id: str | None) -> str:
    """Name the hash field of an action's record; "" for an action without an id."""
    return "" if action_id is None else f"id:{agent_id}:{action_id}"


def read_update(message: bytes) -> Update | SeatPresence | CrowdSize:
    """Read what a table's channel carried."""
    first, *rest = msgspec.msgpack.decode(message)
    if first == _PRESENCE:
        return SeatPresence(*rest)
    if first == _CROWD_SIZE:
        return CrowdSize(*rest)
    return Update(first, rest[0], tuple(rest[1:]))


def read_match(public: bytes) -> Match:
    """Unpack a table's public state."""
    return _match.decode(public)


def _copy(public: bytes, secret: bytes) -> TableCopy:
    return TableCopy(_match.decode(public), secret)


def _outcome(reply: list[Any]) -> Outcome:
    match reply:
        case [b"committed", record]:
            return Committed(_record.decode(record) if record != b"\xc0" else None)
        case [b"replayed", record]:
            return Replayed(_record.decode(record))
        case [b"conflict", _, public, secret]:
            return Conflict(_copy(public, secret) if public else None)
        case [b"late"]:
            return Late()
        case [b"extended"]:
            return Extended()
        case _:
            return Early()
