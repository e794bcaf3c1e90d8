"""Move matches: load, apply the rules, commit, and do it again if the table had moved on.

    Exception
    └── Refusal    an action can't be taken; nothing has changed

This is the one way in which a match moves, whoever asks for it: an agent or the clock.
"""

import asyncio
import hashlib
from collections.abc import Callable

import msgspec

from hub.rules import match as rules
from hub.rules.match import IllegalMove, Match
from hub.store.stamps import AT_COMMIT
from hub.store.tables import (
    Committed,
    Conflict,
    Extended,
    Late,
    Loaded,
    Record,
    Replayed,
    TableCopy,
    Tables,
    record_key,
)
from protocol.messages import Action, AgentId, ErrorCode

Copies = Callable[[str], TableCopy | None]

OUTAGE_REASON = "outage"  # the `reason` of deadline_moved (PROTOCOL.md)


class Refusal(Exception):
    """An action is refused with `code`; the match is untouched."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Placement(msgspec.Struct, frozen=True, gc=False):
    """A placement that is committed; `replayed` if an earlier sending of it was the one."""

    record: Record
    replayed: bool


class Attended(msgspec.Struct, frozen=True):
    """How many placements were made for late agents, and in how many ms the next may be due."""

    placed: int
    next_ms: int | None


class Referee:
    """Applies moves to the tables of one store.

    `copies` gives what this hub holds of a table, if anything: a copy that is current saves the
    round trip that loads it, one that is not costs a conflict. `on_finish` is called when a match
    has been moved to its end.
    """

    def __init__(self, tables: Tables, copies: Copies) -> None:
        self.on_finish: Callable[[], None] = lambda: None
        self._tables = tables
        self._copies = copies

    async def place(self, agent_id: AgentId, action: Action) -> Placement:
        """Place dice for an agent; once, however often the same `action.id` is sent.

        Raises Refusal, or StoreUnavailable when the outcome is unknown.
        """
        digest = _digest(action)
        copy = self._copies(action.match_id)
        if copy is None:
            return await self._place_on_loaded(agent_id, action, digest)
        try:
            return await self._commit_placement(copy, agent_id, action, digest)
        except (IllegalMove, Refusal):
            # The copy may be old, and the action may be one that was taken already.
            return await self._place_on_loaded(agent_id, action, digest)

    async def attend(self, slot: int) -> Attended:
        """Act on every deadline of a slot that has passed, and on every one that was moved."""
        claimed = await self._tables.claim(slot)
        placed = await asyncio.gather(*(self._time_out(each) for each in claimed.match_ids))
        return Attended(sum(placed), claimed.next_ms)

    async def _time_out(self, match_id: str) -> bool:
        """Tell the players of a moved deadline, or else place for the agent; whether it placed."""
        loaded = await self._tables.load(match_id)
        if loaded is None or loaded.copy.match.deadline is None or loaded.deadline_ms is None:
            return False
        match, seed = loaded.copy.match, loaded.copy.server_seed
        if loaded.deadline_ms > loaded.copy.match.deadline:
            step = rules.move_deadline(match, loaded.deadline_ms, OUTAGE_REASON, AT_COMMIT)
            await self._tables.commit(*step)
            return False
        match, events = rules.time_out(match, seed, AT_COMMIT)
        outcome = await self._tables.commit(match, events, guard="after")
        self._note_end(match)
        return isinstance(outcome, Committed)

    async def _place_on_loaded(self, agent_id: AgentId, action: Action, digest: bytes) -> Placement:
        loaded = await self._load(action.match_id, record_key(agent_id, action.id))
        if loaded.record is not None:
            return _replay(loaded.record, digest, action)
        try:
            return await self._commit_placement(loaded.copy, agent_id, action, digest)
        except IllegalMove as illegal:
            raise Refusal(illegal.code, str(illegal)) from illegal

    async def _commit_placement(
        self, copy: TableCopy, agent_id: AgentId, action: Action, digest: bytes
    ) -> Placement:
        while True:
            seat = _seat(copy.match, agent_id)
            match, events = rules.place(
                copy.match,
                copy.server_seed,
                seat=seat,
                turn=action.turn,
                face=action.params.face,
                nonce=action.params.nonce,
                message=action.params.message,
                moment=AT_COMMIT,
            )
            placed_seq = copy.match.seq + (2 if action.params.message else 1)
            think_ms = AT_COMMIT.now_ms - copy.match.rolled_at
            outcome = await self._tables.commit(
                match,
                events,
                guard="before",
                known_deadline=copy.match.deadline or 0,
                key=record_key(agent_id, action.id),
                record=Record(digest, action.turn, placed_seq, think_ms),
            )
            self._note_end(match)
            match outcome:
                case Committed(record=Record() as record):
                    return Placement(record, replayed=False)
                case Replayed(record=record):
                    return _replay(record, digest, action)
                case Conflict(copy=TableCopy() as newer):
                    copy = newer
                case Extended():
                    await self.attend(self._tables.slot(action.match_id))
                    await self._time_out(action.match_id)
                    copy = (await self._load(action.match_id)).copy
                case Late():
                    raise Refusal(
                        ErrorCode.DEADLINE_PASSED,
                        f"the deadline of turn {action.turn} has passed: the hub places for you",
                    )
                case _:
                    raise Refusal(ErrorCode.MATCH_NOT_FOUND, "the match is gone")

    async def _load(self, match_id: str, key: str = "") -> Loaded:
        loaded = await self._tables.load(match_id, key)
        if loaded is None:
            raise Refusal(ErrorCode.MATCH_NOT_FOUND, f"there is no match {match_id!r}")
        return loaded

    def _note_end(self, match: Match) -> None:
        if match.current_seat is None:
            self.on_finish()


def _seat(match: Match, agent_id: AgentId) -> int:
    seat = rules.seat_of(match, agent_id)
    if seat is None:
        raise Refusal(ErrorCode.NOT_SEATED, f"you have no seat in match {match.match_id!r}")
    return seat


def _replay(record: Record, digest: bytes, action: Action) -> Placement:
    if record.digest != digest:
        raise Refusal(
            ErrorCode.KEY_REUSED,
            f"id {action.id!r} belongs to another action of yours, for turn {record.turn}: "
            "take a new id for each action",
        )
    return Placement(record, replayed=True)


def _digest(action: Action) -> bytes:
    """Fingerprint what an action says, apart from its id."""
    content = msgspec.msgpack.encode((action.turn, action.action, action.params))
    return hashlib.blake2b(content, digest_size=16).digest()
