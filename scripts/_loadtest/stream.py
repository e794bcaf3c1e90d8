"""Check a stream of events: each once, in order, without a gap."""

import msgspec

from .tally import Tally


class Seat(msgspec.Struct):
    """Who sits where."""

    seat: int
    agent_id: str


class State(msgspec.Struct):
    """What a bot has to know of a snapshot's table."""

    turn: int
    current_seat: int | None
    roll: tuple[int, ...]
    players: tuple[Seat, ...]
    status: str


class Glance(msgspec.Struct):
    """What clients look at of a message, whichever type it has."""

    type: str
    match_id: str | None = None
    seq: int = 0
    ts: int = 0
    id: str | None = None
    seat: int = -1
    turn: int = 0
    dice: tuple[int, ...] = ()
    players: tuple[Seat, ...] = ()
    state: State | None = None
    skipped: int = 0
    code: str | int = ""
    retry_ms: int | None = None
    replayed: bool = False
    now: int = 0
    queued: bool = False


look = msgspec.msgpack.Decoder(Glance).decode


class Stream:
    """Where a client stands in a match's events."""

    def __init__(self) -> None:
        self.match_id: str | None = None
        self.seq = 0

    @property
    def query(self) -> str:
        """Render what resumes here as a URL's query."""
        return f"?after={self.seq}&match_id={self.match_id}" if self.match_id else ""

    def note(self, message: Glance, tally: Tally) -> bool:
        """Take an event or a snapshot; whether it is news. All events have a `ts`, nothing else."""
        if message.type == "snapshot":
            self.match_id, self.seq = message.match_id, message.seq
            tally.skipped += message.skipped
            return True
        if not message.ts:
            return False
        if message.match_id != self.match_id:  # another match begins at its first event
            self.match_id, self.seq = message.match_id, 0
        if message.seq <= self.seq:
            tally.duplicates += 1
            return False
        if message.seq > self.seq + 1:
            tally.gaps += 1
        self.seq = message.seq
        return True

    def end(self) -> None:
        """Forget the match: it is over."""
        self.match_id, self.seq = None, 0
