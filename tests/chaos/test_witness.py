"""What sockets receive is checked byte by byte."""

from typing import Any

import pytest

from hub.sockets.outbox import frame
from protocol.codec import Format
from scripts._chaos.proxy import Line, Proxy
from scripts._chaos.troubles import Trouble
from scripts._chaos.witness import Tap, Witness
from tests.clients import Map, pack

HEAD = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"
BYE: Map = {"type": "bye", "code": 1001}


def event(seq: int, **fields: Any) -> Map:
    return {"type": "placed", "match_id": "m1", "seq": seq, "ts": 1, **fields}


def snapshot(seq: int, **fields: Any) -> Map:
    return {"type": "snapshot", "match_id": "m1", "seq": seq, **fields}


def framed(message: Map, format: Format = "msgpack") -> bytes:
    packed = pack(message, format)
    return frame(packed.encode() if isinstance(packed, str) else packed, format)


def open_line(witness: Witness, path: str = "/watch/m1") -> Tap:
    tap = witness.watch(Line(Proxy("nowhere")), 0)
    tap.sent(f"GET {path} HTTP/1.1\r\nAuthorization: Bearer T\r\n\r\n".encode())
    tap.received(HEAD)
    return tap


def receive(tap: Tap, *messages: Map, format: Format = "msgpack") -> None:
    for message in messages:
        tap.received(framed(message, format))


def whats(witness: Witness) -> list[tuple[str, int]]:
    return [(trouble.what, trouble.seq) for trouble in witness.troubles.found]


@pytest.mark.parametrize(
    ("path", "messages", "troubles"),
    [
        ("/watch/m1?after=0", [event(1), event(2), event(3)], []),
        ("/watch/m1?after=4", [event(5)], []),
        ("/watch/m1", [snapshot(4), event(5)], []),
        ("/watch/m1", [snapshot(4), event(5), snapshot(9, skipped=4), event(10)], []),
        ("/watch/m1", [snapshot(4), snapshot(9, id="a sync"), event(5)], []),
        ("/watch/m1", [snapshot(4), {"type": "presence", "match_id": "m1"}], []),
        ("/play?match_id=m1&after=4", [event(5), event(6)], []),
        ("/play?match_id=m2&after=4", [event(1), event(2)], []),
        ("/watch/m1?after=4", [event(6)], [("gap", 6)]),
        ("/watch/m1?after=4", [event(4)], [("duplicate", 4)]),
        ("/watch/m1?after=4", [event(5), event(5)], [("duplicate", 5)]),
        ("/watch/m1?after=4", [event(5), event(7), event(8)], [("gap", 7)]),
        ("/watch/m1", [event(5)], [("gap", 5)]),
        ("/watch/m1?after=4", [snapshot(9)], [("snapshot for events", 9)]),
        ("/play", [event(1), BYE, event(2)], [("message after bye", 2)]),
    ],
)
def test_events_come_in_order_and_each_once(
    path: str, messages: list[Map], troubles: list[tuple[str, int]]
) -> None:
    witness = Witness({})
    receive(open_line(witness, path), *messages)
    assert whats(witness) == troubles


def test_bytes_are_read_however_they_are_cut() -> None:
    witness = Witness({})
    tap = witness.watch(Line(Proxy("nowhere")), 0)
    tap.sent(b"GET /watch/m1?after=0 HTTP/1.1\r\nHost: hub\r\n\r\n")
    for byte in HEAD + framed(event(1), "json") + framed(snapshot(1), "json"):
        tap.received(bytes([byte]))
    assert whats(witness) == [("snapshot for events", 1)]
    assert witness.events == 1


def test_a_page_is_no_stream() -> None:
    witness = Witness({})
    tap = witness.watch(Line(Proxy("nowhere")), 0)
    tap.sent(b"GET /watch/m1 HTTP/1.1\r\nHost: hub\r\n\r\n")
    tap.received(b'HTTP/1.1 503 Service Unavailable\r\n\r\n{"error": {"code": "unavailable"}}')
    assert [record.status for record in witness.records] == ["HTTP/1.1 503 Service Unavailable"]


def test_sockets_of_a_format_get_the_same_bytes() -> None:
    witness = Witness({})
    sockets: list[tuple[Format, int]] = [("msgpack", 1), ("json", 1), ("msgpack", 1), ("json", 2)]
    for format, face in sockets:
        receive(open_line(witness, "/watch/m1?after=0"), event(1, face=face), format=format)
    assert [(each.what, each.line) for each in witness.troubles.found] == [("differing event", 3)]


def test_a_line_s_agent_is_known_by_its_token() -> None:
    witness = Witness({"T": "ann"})
    receive(open_line(witness, "/play"), event(2))
    assert witness.troubles.found == [
        Trouble(
            what="gap",
            at=witness.troubles.found[0].at,
            who="ann",
            match_id="m1",
            seq=2,
            line=0,
            detail="after 0",
        )
    ]
