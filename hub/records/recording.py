"""Read a match's recorded events from a file, a hub, or a pipe.

Exception
+-- RecordingError    there is nothing to read, or it is no match log; the message says what
"""

import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import msgpack

from protocol.codec import DecodeError, Format, decode_event
from protocol.messages import AnyEvent

ANSWER_LIMIT_SECONDS = 30.0
LOG_LIMIT_BYTES = 64 * 1024 * 1024  # a thousand times a long match


class RecordingError(Exception):
    """There is nothing to read, or it is no match log; the message says what."""


def read(source: str) -> list[AnyEvent]:
    """Read a log from a path, a URL (of the log, or of its match at a hub), or stdin (`-`).

    The log is msgpack maps back to back or lines of JSON, whichever it looks like.
    Raises RecordingError.
    """
    data = _fetch(source)
    origin = "stdin" if source == "-" else source
    if not data.strip():
        raise RecordingError(f"{origin} is empty.")
    is_json = data.lstrip().startswith(b"{")  # which no msgpack map starts with
    format: Format = "json" if is_json else "msgpack"
    events: list[AnyEvent] = []
    for record in _split_lines(data) if is_json else _split_maps(data):
        try:
            events.append(decode_event(record, format))
        except DecodeError as error:
            raise RecordingError(
                f"{origin} is no match log: event {len(events) + 1}: {error.reason}."
            ) from None
    return events


def _fetch(source: str) -> bytes:
    try:
        if source == "-":
            return sys.stdin.buffer.read(LOG_LIMIT_BYTES)
        if source.startswith(("http://", "https://")):
            return _download(_log_url(source))
        return Path(source).read_bytes()
    except (OSError, ValueError, HTTPException) as error:
        raise RecordingError(f"Can't read {source}: {_explain(error)}.") from error


def _explain(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        with error:
            return f"the server answered {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError) and isinstance(error.reason, Exception):
        return _explain(error.reason)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def _download(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=ANSWER_LIMIT_SECONDS) as answer:
        data: bytes = answer.read(LOG_LIMIT_BYTES)
    return data


def _log_url(url: str) -> str:
    """Turn the URL of a match, /api/matches/ID, into that of its log."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/").split("/")
    if path[-3:-1] == ["api", "matches"]:
        parts = parts._replace(path="/".join([*path, "events"]))
    return urlunsplit(parts)


def _split_lines(data: bytes) -> Iterator[bytes]:
    return (line for line in data.splitlines() if line.strip())


def _split_maps(data: bytes) -> Iterator[bytes]:
    unpacker = msgpack.Unpacker(max_buffer_size=0)
    unpacker.feed(data)
    start = 0
    while start < len(data):
        try:
            unpacker.skip()
            end = unpacker.tell()
        except (msgpack.UnpackException, ValueError, RecursionError):
            end = len(data)  # what the decoder will say is wrong with
        yield data[start:end]
        start = end
