"""The live page's files, as the hub serves them."""

import re
from http import HTTPStatus

import pytest
from websockets.datastructures import Headers
from websockets.http11 import Request

from hub.http.static import SECURITY_POLICY, Site, StaticFile, serve_file

SITE = Site()
FRONT = SITE.find("/")


def front() -> StaticFile:
    assert FRONT is not None
    return FRONT


def request(**headers: str) -> Request:
    return Request("/", Headers({name.replace("_", "-"): each for name, each in headers.items()}))


def test_the_page_is_served_under_a_strict_policy() -> None:
    response = serve_file(front(), request())
    assert response.status_code == HTTPStatus.OK
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    assert response.headers["Content-Length"] == str(len(front().body))
    assert response.headers["Content-Security-Policy"] == SECURITY_POLICY
    assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_the_policy_lets_nothing_in_from_elsewhere() -> None:
    sources = {source for rule in SECURITY_POLICY.split("; ") for source in rule.split()[1:]}
    assert sources == {"'none'", "'self'"}


def test_a_browser_that_has_this_version_gets_no_body() -> None:
    response = serve_file(front(), request(If_None_Match=f'"other", W/{front().etag}'))
    assert (response.status_code, response.body) == (HTTPStatus.NOT_MODIFIED, b"")
    assert response.headers["ETag"] == front().etag


def test_a_browser_that_has_another_version_gets_the_file() -> None:
    response = serve_file(front(), request(If_None_Match='"other"'))
    assert (response.status_code, response.body) == (HTTPStatus.OK, front().body)


@pytest.mark.parametrize("path", ["/web/", "/web/index.html", "/web/../static.py", "/web//app.js"])
def test_only_the_page_and_the_files_beside_it_are_there(path: str) -> None:
    assert SITE.find(path) is None


def test_every_file_that_the_page_names_is_there() -> None:
    named = re.findall(r'(?:src|href)="(web/[^"]+)"', front().body.decode())
    assert [name for name in named if SITE.find(f"/{name}") is None] == []


def test_every_module_is_fetched_with_the_page_and_not_one_after_the_other() -> None:
    preloaded = set(re.findall(r'modulepreload" href="(web/[^"]+)"', front().body.decode()))
    assert preloaded == _imported("web/app.js") - {"web/app.js"}


def test_no_file_holds_script_or_style_that_the_policy_forbids() -> None:
    text = front().body.decode()
    assert re.findall(r"<style|<script(?! type=\"module\" src=)|\son\w+=|\sstyle=", text) == []


def _imported(name: str) -> set[str]:
    """Name a module and all that it imports, and so on; types.js is for readers only."""
    found = {name}
    waiting = [name]
    while waiting:
        file = SITE.find(f"/{waiting.pop()}")
        assert file is not None
        imports = re.findall(r'^(?:import|\}) .*?"\./([\w-]+\.js)"', file.body.decode(), re.M)
        new = {f"web/{each}" for each in imports} - found
        found |= new
        waiting += new
    return found
