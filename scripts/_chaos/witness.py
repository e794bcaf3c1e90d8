"""Check what each socket receives, line by line, before any client has filtered it.

On one line a match's events come in order and each once: after the one that the client resumed
from, after a snapshot, or from the first. Every socket gets the same event.
"""

import hashlib
from collections.abc import Iterable
from typing import Literal
from weakref import WeakKeyDictionary

import msgspec

from protocol.codec import Format

from .attendance import Attendance
from .plan import Fault, now_ms
from .proxy import Line
from .troubles import Troubles
from .wire import Frames, Glance, Head, Payload, Request, read_request

What = Literal["gap", "duplicate", "differing event", "snapshot for events", "message after bye"]

UPGRADED = "HTTP/1.1 101 "
NOTED = {"welcome", "bye", "error", "snapshot", "queued", "left"}

Prints = dict[Format, bytes]  # an event's digest in each format


class Run(msgspec.Struct, kw_only=True):
    """Events that came one after the other on a line, and when."""

    match_id: str
    first: int
    last: int
    since: int
    until: int


class Note(msgspec.Struct, frozen=True):
    """Something else that a line has seen, and when."""

    at: int
    what: str


class Record(msgspec.Struct, kw_only=True):
    """All that came on one line."""

    number: int
    hub: int
    opened: int
    who: str = ""
    path: str = ""
    after: int | None = None
    status: str = ""
    closed: int | None = None
    events: int = 0
    runs: list[Run] = []
    notes: list[Note] = []


class Witness:
    """Everything that was seen on all lines; `names` tells who a token belongs to."""

    def __init__(self, names: dict[str, str]) -> None:
        self.attendance = Attendance()
        self.names = names
        self.records: list[Record] = []
        self.troubles = Troubles()
        self.prints: dict[tuple[str, int], Prints] = {}
        self._taps: WeakKeyDictionary[Line, Tap] = WeakKeyDictionary()

    @property
    def events(self) -> int:
        """How many events were received, by all sockets together."""
        return sum(record.events for record in self.records)

    def watch(self, line: Line, hub: int) -> "Tap":
        """Look at a new line to a hub."""
        record = Record(number=len(self.records), hub=hub, opened=now_ms())
        self.records.append(record)
        tap = self._taps[line] = Tap(self, record)
        return tap

    def blame(self, lines: Iterable[Line], fault: Fault) -> None:
        """Note that lines do not work because of a fault."""
        hit = self._records(lines)
        for record in hit:
            record.notes.append(Note(now_ms(), f"-- {fault.kind}"))
        self.attendance.impair([record.number for record in hit], fault)

    def acquit(self, lines: Iterable[Line]) -> None:
        """Note that lines work again."""
        self.attendance.restore([record.number for record in self._records(lines)])

    def _records(self, lines: Iterable[Line]) -> list[Record]:
        """Find the lines that are open."""
        taps = [self._taps[line] for line in lines if line in self._taps]
        return [tap.record for tap in taps if tap.record.closed is None]

    def fingerprint(self, glance: Glance, payload: Payload) -> bool:
        """Keep an event's digest; whether it is what others of its format have seen."""
        prints = self.prints.setdefault((glance.match_id or "", glance.seq or 0), {})
        digest = fingerprint(payload.data)
        return prints.setdefault(payload.format, digest) == digest


def fingerprint(data: bytes) -> bytes:
    """Make a digest to compare by."""
    return hashlib.blake2b(data, digest_size=16).digest()


class Tap:
    """Reads what one line passes on."""

    def __init__(self, witness: Witness, record: Record) -> None:
        self.record = record
        self._witness = witness
        self._request_head, self._response_head, self._frames = Head(), Head(), Frames()
        self._request: Request | None = None
        self._positions: dict[str, int] = {}
        self._said_bye = False

    # ---- What the proxy passes on

    def sent(self, data: bytes) -> None:
        if self._request is None:
            self._request_head.feed(data)
            if self._request_head.text is not None:
                self._ask(read_request(self._request_head.text))

    def received(self, data: bytes) -> None:
        rest = self._response_head.feed(data)
        if self._response_head.text is None:
            return
        self.record.status, *_ = self._response_head.text.split("\r\n")
        if self.record.status.startswith(UPGRADED):
            for payload in self._frames.feed(rest):
                self._see(payload)

    def closed(self) -> None:
        self.record.closed = now_ms()
        self._witness.attendance.depart(self.record.who, self.record.number)

    # ---- What that means

    def _ask(self, request: Request) -> None:
        self._request = request
        self.record.who = self._witness.names.get(request.token, "spectator")
        self.record.path = request.path
        self.record.after = request.after
        if request.after is not None and request.match_id is not None:
            self._positions[request.match_id] = request.after

    def _see(self, payload: Payload) -> None:
        glance = payload.glance()
        if self._said_bye:
            self._report("message after bye", glance, glance.type)
        if glance.ts is not None:
            self._see_event(glance, payload)
            return
        if glance.type in NOTED:
            self.record.notes.append(Note(now_ms(), _describe(glance)))
        match glance.type:
            case "welcome":
                self._witness.attendance.arrive(self.record.who, self.record.number)
            case "snapshot" if glance.id is None:
                self._see_snapshot(glance)
            case "bye":
                self._said_bye = True

    def _see_snapshot(self, glance: Glance) -> None:
        match_id, seq = glance.match_id or "", glance.seq or 0
        if match_id in self._positions and glance.skipped is None:
            self._report("snapshot for events", glance, f"after {self._positions[match_id]}")
        self._positions[match_id] = seq

    def _see_event(self, glance: Glance, payload: Payload) -> None:
        match_id, seq = glance.match_id or "", glance.seq or 0
        before = self._positions.get(match_id, 0)
        if seq > before + 1:
            self._report("gap", glance, f"after {before}")
        if seq <= before:
            self._report("duplicate", glance, f"after {before}")
        if not self._witness.fingerprint(glance, payload):
            self._report("differing event", glance, payload.data.hex())
        self._positions[match_id] = max(seq, before)
        self._record(match_id, seq)

    def _record(self, match_id: str, seq: int) -> None:
        self.record.events += 1
        runs = self.record.runs
        if runs and runs[-1].match_id == match_id and runs[-1].last == seq - 1:
            runs[-1].last, runs[-1].until = seq, now_ms()
        else:
            at = now_ms()
            runs.append(Run(match_id=match_id, first=seq, last=seq, since=at, until=at))

    def _report(self, what: What, glance: Glance, detail: str) -> None:
        self._witness.troubles.report(
            what,
            self.record.who,
            match_id=glance.match_id,
            seq=glance.seq,
            line=self.record.number,
            detail=detail,
        )


def _describe(glance: Glance) -> str:
    parts = [glance.type, glance.match_id, glance.seq, glance.code]
    return " ".join(str(part) for part in parts if part is not None)
