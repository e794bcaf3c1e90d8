"""Answer plain HTTP requests: health, lists, logs.

Every page is made from the store, so any hub gives the same answer.
"""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from urllib.parse import SplitResult, parse_qs, unquote

import msgspec
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from hub.hall import Hall
from hub.static import Site, serve_file
from hub.store.link import StoreUnavailable
from hub.store.lobby import Lobby
from hub.store.tables import Tables
from protocol.codec import decode_event, to_json
from protocol.messages import MatchFinished

JSON = "application/json"
NDJSON = "application/x-ndjson"
MSGPACK = "application/vnd.msgpack"

PAGE_LIMIT = 50  # rows of a list unless `limit` asks for fewer or more
PAGE_LIMIT_MOST = 500

# Headers that say what a client can do about an error (RFC 9110, 10.2, 11.6 and 7.8).
_REMEDIES = {
    HTTPStatus.UNAUTHORIZED: {"WWW-Authenticate": "Bearer"},
    HTTPStatus.METHOD_NOT_ALLOWED: {"Allow": "GET, HEAD"},
    HTTPStatus.UPGRADE_REQUIRED: {"Upgrade": "websocket"},
    HTTPStatus.SERVICE_UNAVAILABLE: {"Retry-After": "1"},
}

_encode = msgspec.json.Encoder().encode


class Problem(Exception):
    """A request can't be served; `code` is for programs, `message` for people."""

    def __init__(self, status: HTTPStatus, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message

    def response(self) -> Response:
        """Make the error page (PROTOCOL.md, Transport)."""
        body = {"error": {"code": self.code, "message": self.message}}
        response = answer(_encode(body), JSON, self.status)
        response.headers.update(_REMEDIES.get(self.status, {}))
        return response


def answer(body: bytes, content_type: str, status: HTTPStatus = HTTPStatus.OK) -> Response:
    """Make a response. The connection closes after each one."""
    headers = Headers(
        {
            "Content-Type": content_type,
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            "Access-Control-Allow-Origin": "*",  # all of it is public
            "X-Content-Type-Options": "nosniff",
            "Connection": "close",
        }
    )
    return Response(status, status.phrase, headers, body)


def unavailable(error: StoreUnavailable) -> Problem:
    """Say that the store does not answer."""
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", f"{error}; try again")


class Pages:
    """The pages of one hub; `is_ready` tells what keeps it from serving, or "" if nothing does."""

    def __init__(
        self, tables: Tables, lobby: Lobby, hall: Hall, is_ready: Callable[[], str]
    ) -> None:
        self._tables = tables
        self._lobby = lobby
        self._hall = hall
        self._is_ready = is_ready
        self._site = Site()
        self._pages: dict[str, Callable[[dict[str, str]], Awaitable[Response]]] = {
            "/healthz": self._health,
            "/readyz": self._ready,
            "/api/matches": self._matches,
            "/api/leaderboard": self._leaderboard,
        }

    async def serve(self, request: Request, url: SplitResult) -> Response:
        """Answer one request; errors are answers, too."""
        try:
            response = await self._serve(request, url)
        except Problem as problem:
            response = problem.response()
        except StoreUnavailable as error:
            response = unavailable(error).response()
        if request.method == "HEAD":
            response.body = b""
        return response

    async def _serve(self, request: Request, url: SplitResult) -> Response:
        if request.method not in {"GET", "HEAD"}:
            raise Problem(
                HTTPStatus.METHOD_NOT_ALLOWED, "method_not_allowed", "only GET and HEAD are served"
            )
        query = {name: values[-1] for name, values in parse_qs(url.query).items()}
        file = self._site.find(url.path)
        if file is not None:
            return serve_file(file, request)
        page = self._pages.get(url.path)
        if page is not None:
            return await page(query)
        match url.path.split("/"):
            case ["", "api", "matches", match_id]:
                return await self._match(unquote(match_id))
            case ["", "api", "matches", match_id, "events"]:
                return await self._events(unquote(match_id), query)
            case ["", "play" | "watch", *_]:
                raise Problem(
                    HTTPStatus.UPGRADE_REQUIRED, "upgrade_required", "this is a WebSocket: open one"
                )
        raise Problem(HTTPStatus.NOT_FOUND, "not_found", f"there is no page {url.path}")

    async def _health(self, _query: dict[str, str]) -> Response:
        return answer(_encode({"status": "ok", "hub": self._hall.hub_id}), JSON)

    async def _ready(self, _query: dict[str, str]) -> Response:
        trouble = self._is_ready()
        if trouble:
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", trouble)
        return answer(_encode({"status": "ready", "hub": self._hall.hub_id}), JSON)

    async def _matches(self, query: dict[str, str]) -> Response:
        before = query.get("before")
        match_ids, following = await self._lobby.page(
            None if before is None else _number(query, "before", 0, 2**53),
            _number(query, "limit", PAGE_LIMIT, PAGE_LIMIT_MOST),
        )
        rows = await self._hall.rows(match_ids)
        return answer(_encode({"matches": rows, "next": following}), JSON)

    async def _leaderboard(self, query: dict[str, str]) -> Response:
        offset = _number(query, "after", 0, 2**53)
        limit = _number(query, "limit", PAGE_LIMIT, PAGE_LIMIT_MOST)
        agents = await self._lobby.leaderboard(offset, limit)
        following = offset + limit if len(agents) == limit else None
        return answer(_encode({"agents": agents, "next": following}), JSON)

    async def _match(self, match_id: str) -> Response:
        newest = await self._tables.last_event(match_id)
        if newest is None:
            raise no_match(match_id)
        event = decode_event(newest, "msgpack")
        if isinstance(event, MatchFinished):
            return answer(_encode(event.summary), JSON)
        rows = await self._hall.rows([event.match_id])
        return answer(_encode(rows[0]), JSON)

    async def _events(self, match_id: str, query: dict[str, str]) -> Response:
        format = query.get("format", "msgpack")
        if format not in {"msgpack", "ndjson"}:
            raise _bad_request("format is msgpack or ndjson")
        events = await self._tables.log(match_id, 1)
        if not events:
            raise no_match(match_id)
        if format == "msgpack":
            return answer(b"".join(events), MSGPACK)
        return answer(b"".join(to_json(event) + b"\n" for event in events), NDJSON)


def _number(query: dict[str, str], name: str, default: int, most: int) -> int:
    text = query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and int(text[:17]) <= most):
        raise _bad_request(f"{name} is a whole number from 0 to {most}")
    return int(text)


def no_match(match_id: str) -> Problem:
    """Say that there is no such match."""
    return Problem(HTTPStatus.NOT_FOUND, "match_not_found", f"there is no match {match_id!r}")


def _bad_request(message: str) -> Problem:
    return Problem(HTTPStatus.BAD_REQUEST, "bad_request", message)
