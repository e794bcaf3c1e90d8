"""Answer plain HTTP requests: health, lists, logs.

Every page is made from the store, so any hub gives the same answer.
"""

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from urllib.parse import SplitResult, parse_qs, unquote

import msgspec
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from hub.http.static import Site, serve_file
from hub.lobby.presence import Hall
from hub.store.history import History, Status
from hub.store.link import StoreUnavailable
from hub.store.lobby import Lobby
from hub.store.tables import Tables
from protocol.asyncapi import describe_protocol
from protocol.codec import decode_event, to_json
from protocol.messages import INTEGER_LIMIT, MatchFinished

JSON = "application/json"
NDJSON = "application/x-ndjson"
MSGPACK = "application/vnd.msgpack"

PAGE_LIMIT = 50  # rows of a list unless `limit` asks for fewer or more
PAGE_LIMITS = range(1, 501)

NUMBER_DIGITS = 16  # as many as a whole number within +-2^53 can have

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
        self,
        *,
        tables: Tables,
        lobby: Lobby,
        history: History,
        hall: Hall,
        is_ready: Callable[[], str],
    ) -> None:
        self._tables = tables
        self._lobby = lobby
        self._history = history
        self._hall = hall
        self._is_ready = is_ready
        self._site = Site()
        self._pages: dict[str, Callable[[dict[str, str]], Awaitable[Response]]] = {
            "/healthz": self._health,
            "/readyz": self._ready,
            "/api/matches": self._matches,
            "/api/leaderboard": self._leaderboard,
            "/api/protocol": self._protocol,
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
        query = read_query(url)
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
        page = await self._history.page(
            status=_status(query),
            agent_id=query.get("agent"),
            before=_number(query, "before", range(INTEGER_LIMIT)) if "before" in query else None,
            limit=_number(query, "limit", PAGE_LIMITS, PAGE_LIMIT),
        )
        rows, waiting = await asyncio.gather(
            self._hall.rows(page.match_ids), self._lobby.count_waiting()
        )
        return answer(_encode({"matches": rows, "next": page.next, "waiting": waiting}), JSON)

    async def _leaderboard(self, query: dict[str, str]) -> Response:
        offset = _number(query, "after", range(INTEGER_LIMIT))
        limit = _number(query, "limit", PAGE_LIMITS, PAGE_LIMIT)
        agents = await self._lobby.leaderboard(offset, limit)
        following = offset + limit if len(agents) == limit else None
        return answer(_encode({"agents": agents, "next": following}), JSON)

    async def _protocol(self, _query: dict[str, str]) -> Response:
        return answer(_encode(describe_protocol()), JSON)

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


def read_query(url: SplitResult) -> dict[str, str]:
    """Read a URL's query; of a name given twice the last value counts."""
    fields = parse_qs(url.query, keep_blank_values=True)
    return {name: values[-1] for name, values in fields.items()}


def read_number(text: str) -> int | None:
    """Read a whole number of plain digits; None if it is none."""
    is_number = text.isascii() and text.isdigit() and len(text) <= NUMBER_DIGITS
    return int(text) if is_number else None


def _number(query: dict[str, str], name: str, allowed: range, default: int = 0) -> int:
    if name not in query:
        return default
    number = read_number(query[name])
    if number is None or number not in allowed:
        raise _bad_request(f"{name} is a whole number from {allowed.start} to {allowed.stop - 1}")
    return number


def _status(query: dict[str, str]) -> Status | None:
    match query.get("status"):
        case "playing" | "finished" as status:
            return status
        case None:
            return None
    raise _bad_request("status is playing or finished")


def no_match(match_id: str) -> Problem:
    """Say that there is no such match."""
    return Problem(HTTPStatus.NOT_FOUND, "match_not_found", f"there is no match {match_id!r}")


def _bad_request(message: str) -> Problem:
    return Problem(HTTPStatus.BAD_REQUEST, "bad_request", message)
