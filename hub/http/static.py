"""Serve the live page: the files of hub/web, read once, under a strict security policy.

The page is `/`; the files beside it are `/web/NAME`. Nothing else can be asked for, so no path
from outside ever reaches the file system.
"""

import hashlib
from http import HTTPStatus
from importlib import resources
from pathlib import PurePath

import msgspec
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

FRONT = "index.html"

# What the page may do: load its own scripts, styles and pictures, and talk to its own hub.
SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)

CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


class StaticFile(msgspec.Struct, frozen=True):
    """A file as it is served."""

    body: bytes
    content_type: str
    etag: str


class Site:
    """All files of the live page, by URL path."""

    def __init__(self) -> None:
        self._files = {_url_path(name): file for name, file in _load().items()}

    def find(self, path: str) -> StaticFile | None:
        """Find the file at a URL path; None if there is none."""
        return self._files.get(path)


def serve_file(file: StaticFile, request: Request) -> Response:
    """Answer with a file, or with 304 if the browser has this very version (RFC 9110, 13.1.2)."""
    if file.etag in _known_versions(request):
        return _response(HTTPStatus.NOT_MODIFIED, file, b"")
    return _response(HTTPStatus.OK, file, file.body)


def _response(status: HTTPStatus, file: StaticFile, body: bytes) -> Response:
    headers = Headers(
        {
            "Content-Type": file.content_type,
            "ETag": file.etag,
            "Cache-Control": "no-cache",  # keep it, but ask each time whether it is still the same
            "Content-Security-Policy": SECURITY_POLICY,
            "Cross-Origin-Opener-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "Connection": "close",
        }
    )
    if status is HTTPStatus.OK:
        headers["Content-Length"] = str(len(body))
    return Response(status, status.phrase, headers, body)


def _known_versions(request: Request) -> list[str]:
    listed = ",".join(request.headers.get_all("If-None-Match"))
    return [tag.strip().removeprefix("W/") for tag in listed.split(",")]


def _url_path(name: str) -> str:
    return "/" if name == FRONT else f"/web/{name}"


def _load() -> dict[str, StaticFile]:
    """Read the files of hub/web that have a content type."""
    return {
        entry.name: _read(entry.read_bytes(), CONTENT_TYPES[PurePath(entry.name).suffix])
        for entry in (resources.files("hub") / "web").iterdir()
        if PurePath(entry.name).suffix in CONTENT_TYPES
    }


def _read(body: bytes, content_type: str) -> StaticFile:
    digest = hashlib.sha256(body).hexdigest()[:32]
    return StaticFile(body, content_type, f'"{digest}"')
