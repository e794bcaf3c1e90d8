"""Find out which hub, and which match, a person means."""

import asyncio
import re
import urllib.error
import urllib.request
from http import HTTPStatus
from http.client import HTTPException
from urllib.parse import quote, urlsplit

import msgspec

DEFAULT_URL = "http://127.0.0.1:8765"
ANSWER_SECONDS = 5.0

_SCHEMES = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}
_PORTS = {"ws": 80, "wss": 443}
_MATCH = re.compile(r"/(?:match|matches|watch)/([^/?#]+)")  # the page's links, and the hub's paths


class Address(msgspec.Struct, frozen=True):
    """A hub's WebSocket address, like ws://host:port, and the match that a URL named, if any."""

    url: str
    host: str
    port: int
    match_id: str | None


class Unreachable(Exception):
    """There is no such hub or match; as text it tells a person what to do."""


def read(text: str) -> Address:
    """Read an address as people paste it: http or ws, a hub or one of its matches.

    Raises ValueError if it is none.
    """
    parts = urlsplit(text if "://" in text else f"http://{text}")
    if parts.scheme not in _SCHEMES or not parts.hostname:
        raise ValueError(f"{text!r} is not like http://HOST:PORT.")
    scheme = _SCHEMES[parts.scheme]
    named = _MATCH.search(parts.path) or _MATCH.search(f"/{parts.fragment.lstrip('/')}")
    port = parts.port or _PORTS[scheme]
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    match_id = named[1] if named else None
    return Address(f"{scheme}://{host}:{port}", parts.hostname, port, match_id)


async def probe(address: Address, match_id: str | None) -> None:
    """Check that a hub answers there and knows the match: later the client would go on trying.

    Raises Unreachable.
    """
    path = f"/api/matches/{quote(match_id, safe='')}" if match_id else "/healthz"
    url = f"http{address.url.removeprefix('ws')}{path}"
    try:
        await asyncio.to_thread(_ask, url)
    except urllib.error.HTTPError as error:
        with error:
            raise Unreachable(_explain(address, match_id, error.code)) from error
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        said = getattr(reason, "strerror", None) or str(reason) or "no answer"
        raise Unreachable(
            f"No hub answers at {address.host}:{address.port} ({said}). "
            "Is it running? scripts/run starts one."
        ) from error


def _ask(url: str) -> None:
    with urllib.request.urlopen(url, timeout=ANSWER_SECONDS):
        pass


def _explain(address: Address, match_id: str | None, status: int) -> str:
    place = f"{address.host}:{address.port}"
    if status == HTTPStatus.NOT_FOUND and match_id:
        return f"There is no match {match_id!r} at {place}. --list shows those that are live."
    return f"{place} answered {status}: it is no hub, or not ready."
