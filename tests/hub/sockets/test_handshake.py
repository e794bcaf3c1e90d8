"""What a hub asks of a connection before it opens (PROTOCOL.md, Transport)."""

import time
from typing import Any

import jwt
import pytest
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from hub.app import Hub
from hub.tokens import issue
from tests.clients import (
    SECRET,
    UPGRADE,
    Answer,
    Map,
    Socket,
    bearer,
    dial,
    fetch,
    knock,
    play,
    play_match,
    seat_four,
    token,
    unpack,
    url,
)
from tests.conftest import MakeHub

JSON = "application/json"


def authorization(value: str) -> tuple[str, str]:
    return ("Authorization", value)


def offering(*subprotocols: str) -> tuple[str, str]:
    return ("Sec-WebSocket-Protocol", ", ".join(subprotocols))


def claims(**changes: Any) -> Map:
    now = int(time.time())
    return {"sub": "ann", "name": "Ann", "iat": now, "exp": now + 3600, **changes}


def signed(secret: bytes = SECRET, algorithm: str = "HS256", **changes: Any) -> str:
    return jwt.encode(claims(**changes), secret, algorithm=algorithm)


def unsigned() -> str:
    return jwt.encode(claims(), None, algorithm="none")


FORGED = signed(b"another secret, also long enough for HS256")

BAD_TOKENS = {
    "malformed": ("Bearer abc.def", "the token is malformed"),
    "nested": ("Bearer " + "." * 5000, "the token is malformed"),
    "forged": (f"Bearer {FORGED}", "the token was not signed by this hub"),
    "unsigned": (f"Bearer {unsigned()}", "the token is malformed"),
    "expired": (f"Bearer {signed(exp=int(time.time()) - 1)}", "the token has expired"),
    "without_end": (f"Bearer {signed(exp=None)}", "the token has no 'exp' claim"),
    "of_an_odd_agent": (
        f"Bearer {signed(sub='../ann')}",
        "the token's agent id is not 1 to 64 of A-Z a-z 0-9 . _ -",
    ),
}

NO_TOKEN = "send your token as 'Authorization: Bearer T' or as the subprotocol 'bearer.T'"


@pytest.mark.parametrize(("header", "reason"), BAD_TOKENS.values(), ids=BAD_TOKENS)
async def test_a_bad_token_is_refused(hub: Hub, header: str, reason: str) -> None:
    answer = await knock(hub, "/play", authorization(header))
    assert_unauthorized(answer, reason)


def assert_unauthorized(answer: Answer, reason: str) -> None:
    assert answer.error == (401, "unauthorized", JSON)
    assert answer.json == {"error": {"code": "unauthorized", "message": reason}}
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [authorization("Bearer")],
        [authorization("Bearer ")],
        [authorization(token("ann"))],
        [authorization(f"Basic {token('ann')}")],
        [("X-Authorization", f"Bearer {token('ann')}")],
        [offering("vegas.v1.json")],
        [authorization("")],
    ],
    ids=str,
)
async def test_no_token_is_refused(hub: Hub, headers: list[tuple[str, str]]) -> None:
    assert_unauthorized(await knock(hub, "/play", *headers), NO_TOKEN)


async def test_two_different_tokens_are_refused(hub: Hub) -> None:
    headers = [authorization(f"Bearer {token(agent)}") for agent in ("ann", "bob")]
    assert_unauthorized(await knock(hub, "/play", *headers), "send one Authorization header")


@pytest.mark.parametrize("name", ["token", "access_token", "bearer"])
async def test_a_token_in_the_url_is_refused(hub: Hub, name: str) -> None:
    answer = await knock(hub, f"/play?{name}={token('ann')}")
    assert_unauthorized(answer, "a token in the URL ends up in logs: send it in a header")
    assert token("ann") not in answer.body.decode()


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
async def test_a_good_token_opens_a_connection(hub: Hub, scheme: str) -> None:
    headers = {"Authorization": f"{scheme} {token('ann')}"}
    async with dial(hub, "/play", headers=headers) as ann:
        assert (await ann.receive())["agent_id"] == "ann"


async def test_a_browser_sends_its_token_as_a_subprotocol(hub: Hub) -> None:
    offered = [Subprotocol(name) for name in ("vegas.v1.json", f"bearer.{token('ann')}")]
    async with connect(url(hub, "/play"), subprotocols=offered) as connection:
        assert connection.subprotocol == "vegas.v1.json"
        welcome = unpack(await connection.recv())
        assert (welcome["type"], welcome["agent_id"]) == ("welcome", "ann")


async def test_a_token_is_never_echoed(hub: Hub) -> None:
    offered = [Subprotocol(f"bearer.{token('ann')}"), Subprotocol("vegas.v1.msgpack")]
    async with connect(url(hub, "/play"), subprotocols=offered) as connection:
        assert connection.response is not None
        assert connection.response.headers["Sec-WebSocket-Protocol"] == "vegas.v1.msgpack"
        assert token("ann") not in str(connection.response.headers)


async def test_no_subprotocol_is_msgpack(hub: Hub) -> None:
    async with connect(url(hub, "/play"), additional_headers=bearer("ann")) as connection:
        assert connection.subprotocol is None
        assert (await Socket(connection, "msgpack").receive())["type"] == "welcome"


async def test_the_first_known_subprotocol_is_taken(hub: Hub) -> None:
    names = ("vegas.v2", "vegas.v1.json", "vegas.v1.msgpack")
    offered = [Subprotocol(name) for name in names]
    async with connect(
        url(hub, "/play"), subprotocols=offered, additional_headers=bearer("ann")
    ) as connection:
        assert connection.subprotocol == "vegas.v1.json"


@pytest.mark.parametrize("path", ["/play", "/watch"])
async def test_unknown_subprotocols_only_are_a_bad_request(hub: Hub, path: str) -> None:
    headers = [authorization(f"Bearer {token('ann')}"), offering("vegas.v2", "chat")]
    answer = await knock(hub, path, *headers)
    assert answer.error == (400, "bad_request", JSON)
    assert "vegas.v1.msgpack or vegas.v1.json" in answer.json["error"]["message"]


@pytest.mark.parametrize("header", ["a,,b;", "a b", "\t"])
async def test_a_malformed_subprotocol_header_is_a_bad_request(hub: Hub, header: str) -> None:
    headers = [authorization(f"Bearer {token('ann')}"), ("Sec-WebSocket-Protocol", header)]
    assert (await knock(hub, "/play", *headers)).status == 400


@pytest.mark.parametrize("path", ["/", "/plays", "/play/x", "/watch/a/b", "/api/matches", "//play"])
async def test_no_websocket_is_at_another_path(hub: Hub, path: str) -> None:
    answer = await knock(hub, path, authorization(f"Bearer {token('ann')}"))
    assert answer.error == (404, "not_found", JSON)


@pytest.mark.parametrize(
    "path",
    ["/watch/nowhere", "/watch/nowhere?after=0", "/play?match_id=nowhere&after=0", "/watch/%00%ff"],
)
async def test_an_unknown_match_is_not_found(hub: Hub, path: str) -> None:
    answer = await knock(hub, path, authorization(f"Bearer {token('ann')}"))
    assert answer.error == (404, "match_not_found", JSON)


@pytest.mark.parametrize(
    "after", ["-1", "x", "1.5", "%201", "1e3", "0x1", "9" * 17, "%C2%B2", "+1", ""]
)
@pytest.mark.parametrize("path", ["/play?match_id={}&after={}", "/watch/{}?after={}"])
async def test_a_bad_after_is_a_bad_request(hub: Hub, path: str, after: str) -> None:
    async with seat_four(hub) as party:
        agent_token = token(party.sockets[0].agent_id)
        answer = await knock(
            hub, path.format(party.match_id, after), authorization(f"Bearer {agent_token}")
        )
        assert answer.error == (400, "bad_request", JSON)


async def test_after_without_match_id_is_a_bad_request(hub: Hub) -> None:
    answer = await knock(hub, "/play?after=3", authorization(f"Bearer {token('ann')}"))
    assert answer.error == (400, "bad_request", JSON)


async def test_resuming_others_match_is_forbidden(hub: Hub) -> None:
    async with seat_four(hub) as party:
        path = f"/play?match_id={party.match_id}&after=0"
        answer = await knock(hub, path, authorization(f"Bearer {token('eve')}"))
        assert answer.error == (403, "not_seated", JSON)


async def test_resuming_others_finished_match_is_forbidden(hub: Hub) -> None:
    match_id = (await play_match(hub))[0]["match_id"]
    path = f"/play?match_id={match_id}&after=0"
    answer = await knock(hub, path, authorization(f"Bearer {token('eve')}"))
    assert answer.error == (403, "not_seated", JSON)


@pytest.mark.parametrize("path", ["/play", "/play/", "/watch", "/watch/"])
async def test_a_page_request_for_a_websocket_says_so(hub: Hub, path: str) -> None:
    answer = await fetch(hub, path)
    assert answer.error == (426, "upgrade_required", JSON)
    assert answer.headers["upgrade"] == "websocket"


async def test_a_proxys_extra_headers_do_no_harm(hub: Hub) -> None:
    headers = [("Connection", "keep-alive"), *UPGRADE, authorization(f"Bearer {token('ann')}")]
    answer = await fetch(hub, "/play?after=1", headers=headers)
    assert answer.error == (400, "bad_request", JSON)


async def test_a_request_for_another_upgrade_gets_its_page(hub: Hub) -> None:
    """RFC 9110, 7.8: a server may ignore an Upgrade; `curl --http2` asks for one."""
    headers = [("Connection", "Upgrade, HTTP2-Settings"), ("Upgrade", "h2c")]
    assert (await fetch(hub, "/healthz", headers=headers)).status == 200


async def test_a_websocket_by_post_is_refused(hub: Hub) -> None:
    answer = await fetch(hub, "/watch", method="POST", headers=UPGRADE)
    assert answer.error == (405, "method_not_allowed", JSON)


async def test_an_old_websocket_version_is_refused(hub: Hub) -> None:
    headers = [header for header in UPGRADE if header[0] != "Sec-WebSocket-Version"]
    answer = await fetch(hub, "/watch", headers=[*headers, ("Sec-WebSocket-Version", "8")])
    assert answer.status == 400


async def test_an_expiring_token_ends_the_connection(hub: Hub) -> None:
    ends_at = int(time.time()) + 2
    headers = {"Authorization": f"Bearer {signed(exp=ends_at)}"}
    async with dial(hub, "/play", headers=headers) as ann:
        bye, close_code = await ann.end()
        expected = {"code": 1008, "reason": "your token has expired"}
        assert bye == {"type": "bye", **expected, "reconnect": False, "retry_ms": 0}
        assert close_code == 1008
        assert time.time() >= ends_at


async def test_an_agent_has_the_name_in_its_token(hub: Hub) -> None:
    headers = {"Authorization": f"Bearer {issue(SECRET, 'ann', 'Ännchen 🎲', 1)}"}
    async with dial(hub, "/play", headers=headers) as ann:
        assert (await ann.receive())["name"] == "Ännchen 🎲"


async def test_a_full_hub_sends_clients_away(make_hub: MakeHub) -> None:
    hub = await make_hub(max_sockets=1)
    async with play(hub, "ann"), dial(hub, "/watch") as late:
        bye, close_code = await late.end()
        assert {**bye, "retry_ms": 0} == {
            "type": "bye",
            "code": 1013,
            "reason": "the hub is full",
            "reconnect": True,
            "retry_ms": 0,
        }
        assert close_code == 1013
        assert bye["retry_ms"] > 0
