"""Read a socket's bytes as they are on the wire: an HTTP head, then WebSocket frames.

It is apart from the client library on purpose: what that would filter out is seen here.
"""

from urllib.parse import parse_qs, urlsplit

import msgspec

from protocol.codec import Format

HEAD_END = b"\r\n\r\n"
FORMATS: dict[int, Format] = {1: "json", 2: "msgpack"}  # by opcode: text, binary
LONG, LONGER = 126, 127  # in place of a payload's length: it follows in 2 or 8 bytes


class Request(msgspec.Struct, frozen=True):
    """What a client asked for as it connected; `after` if it resumes match `match_id`."""

    path: str
    token: str
    match_id: str | None
    after: int | None


class Glance(msgspec.Struct, frozen=True):
    """What is looked at of a message; an event is what has a `ts`."""

    type: str
    id: str | None = None
    match_id: str | None = None
    seq: int | None = None
    ts: int | None = None
    code: str | int | None = None
    skipped: int | None = None


class Payload(msgspec.Struct, frozen=True):
    """A message as it came."""

    format: Format
    data: bytes

    def glance(self) -> Glance:
        """Look at the message."""
        return _GLANCES[self.format](self.data)


_GLANCES = {
    "json": msgspec.json.Decoder(Glance).decode,
    "msgpack": msgspec.msgpack.Decoder(Glance).decode,
}


class Head:
    """Collects an HTTP head; `text` is None until it is whole."""

    def __init__(self) -> None:
        self.text: str | None = None
        self._bytes = b""

    def feed(self, data: bytes) -> bytes:
        """Take bytes; returns those that are beyond the head."""
        if self.text is not None:
            return data
        self._bytes += data
        head, end, rest = self._bytes.partition(HEAD_END)
        if end:
            self.text = head.decode("latin-1")
        return rest


def read_request(head: str) -> Request:
    """Read a request's head."""
    line, *fields = head.split("\r\n")
    url = urlsplit(line.split(" ")[1])
    query = {name: values[0] for name, values in parse_qs(url.query).items()}
    headers = {name.lower(): value for name, value in (field.split(": ", 1) for field in fields)}
    _, _, watched = url.path.partition("/watch/")
    return Request(
        path=url.path,
        token=headers.get("authorization", "").removeprefix("Bearer "),
        match_id=query.get("match_id", watched or None),
        after=int(query["after"]) if "after" in query else None,
    )


class Frames:
    """Cuts a hub's bytes into messages; control frames are left out."""

    def __init__(self) -> None:
        self._bytes = b""

    def feed(self, data: bytes) -> list[Payload]:
        """Take bytes; returns the messages that are whole by now."""
        self._bytes += data
        found: list[Payload] = []
        at = 0
        while (frame := _frame(self._bytes, at)) is not None:
            opcode, start, at = frame
            if opcode in FORMATS:
                found.append(Payload(FORMATS[opcode], self._bytes[start:at]))
        self._bytes = self._bytes[at:]
        return found


def _frame(data: bytes, at: int) -> tuple[int, int, int] | None:
    """Find a frame's opcode and where its payload starts and ends; None if it is not whole."""
    start = at + 2
    if len(data) < start:
        return None
    length = data[at + 1]
    width = {LONG: 2, LONGER: 8}.get(length, 0)
    if width:
        length = int.from_bytes(data[start : start + width])
    start += width
    if len(data) < start + length:
        return None
    return data[at] & 0x0F, start, start + length
