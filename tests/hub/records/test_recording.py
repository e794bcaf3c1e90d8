import io
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import pytest

from hub.records.recording import RecordingError, read
from protocol.codec import encode
from tests.rules.matches import SHORT, play

EVENTS = list(play(config=SHORT).log)
PACKED = b"".join(encode(event, "msgpack") for event in EVENTS)
LINES = b"".join(encode(event, "json") + b"\n" for event in EVENTS)


@contextmanager
def hub(pages: dict[str, bytes]) -> Iterator[str]:
    """Serve some pages as a hub would; the URL of its root."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = pages.get(self.path)
            self.send_response(404 if page is None else 200)
            self.end_headers()
            self.wfile.write(page or b"")

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def complaint_about(source: str | Path) -> str:
    with pytest.raises(RecordingError) as caught:
        read(str(source))
    return str(caught.value)


@pytest.mark.parametrize("content", [PACKED, LINES, b"\n\n" + LINES.replace(b"\n", b"\r\n\n")])
def test_reads_a_file_of_either_format(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "log").write_bytes(content)
    assert read(str(tmp_path / "log")) == EVENTS


def test_reads_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(PACKED)))
    assert read("-") == EVENTS


@pytest.mark.parametrize("path", ["/api/matches/m0/events", "/api/matches/m0", "/api/matches/m0/"])
def test_reads_a_match_from_a_hub(path: str) -> None:
    with hub({"/api/matches/m0/events": PACKED}) as url:
        assert read(url + path) == EVENTS


def test_asks_for_the_format_that_the_url_names() -> None:
    with hub({"/api/matches/m0/events?format=ndjson": LINES}) as url:
        assert read(f"{url}/api/matches/m0?format=ndjson") == EVENTS


def test_reads_a_log_from_anywhere_on_the_web() -> None:
    with hub({"/archive/log": PACKED}) as url:
        assert read(f"{url}/archive/log") == EVENTS


def test_says_what_a_hub_answered() -> None:
    with hub({}) as url:
        source = f"{url}/api/matches/m9"
        expected = f"Can't read {source}: the server answered 404 Not Found."
        assert complaint_about(source) == expected


def test_says_that_a_hub_is_not_there() -> None:
    with hub({}) as url:
        pass
    assert complaint_about(url) == f"Can't read {url}: Connection refused."


def test_says_that_a_url_is_none() -> None:
    assert complaint_about("http://[/") == "Can't read http://[/: Invalid IPv6 URL."


def test_says_that_a_file_is_not_there(tmp_path: Path) -> None:
    source = tmp_path / "none"
    assert complaint_about(source) == f"Can't read {source}: No such file or directory."


@pytest.mark.parametrize("content", [b"", b" \n"])
def test_says_that_a_file_is_empty(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "log").write_bytes(content)
    assert complaint_about(tmp_path / "log") == f"{tmp_path / 'log'} is empty."


@pytest.mark.parametrize(
    ("content", "number"),
    [
        (b"hello", 1),
        (b"\xff\xfe", 1),
        (PACKED[:-1], len(EVENTS)),
        (PACKED + b"\x81", len(EVENTS) + 1),
        (PACKED + b"\xc1", len(EVENTS) + 1),
        (b"\x91" * 5000, 1),
        (LINES[:-3], len(EVENTS)),
        (b'{"type": "unheard_of"}', 1),
        (LINES + PACKED, len(EVENTS) + 1),
    ],
)
def test_says_which_event_is_unreadable(tmp_path: Path, content: bytes, number: int) -> None:
    (tmp_path / "log").write_bytes(content)
    expected = f"{tmp_path / 'log'} is no match log: event {number}: "
    assert complaint_about(tmp_path / "log").startswith(expected)
