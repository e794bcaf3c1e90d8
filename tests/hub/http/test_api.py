"""The pages of a hub, as any HTTP client gets them (PROTOCOL.md, Transport)."""

import io
import json
from typing import Any

import msgpack
import pytest

from hub.app import Hub
from tests.clients import AGENTS, Answer, Map, dial, fetch, play, play_match, seat_four, talk_http
from tests.conftest import MakeHub

JSON = "application/json"


async def get(hub: Hub, path: str) -> Any:
    answer = await fetch(hub, path)
    assert (answer.status, answer.headers["content-type"]) == (200, JSON)
    return answer.json


async def play_booked(hub: Hub) -> list[Map]:
    """Play a match and wait until its result is booked; its events."""
    async with dial(hub, "/watch") as lobby:
        await lobby.until("lobby")
        log = await play_match(hub)
        await lobby.until("match_closed")
        return log


def row(log: list[Map], **changes: Any) -> Map:
    """Make the row of /api/matches from a match's events."""
    started, last = log[0], log[-1]
    rolls = [event for event in log if event["type"] == "roll"]
    settled = [event["money"] for event in log if event["type"] == "round_settled"]
    money = settled[-1] if settled else [0, 0, 0, 0]
    players = [
        {key: player[key] for key in ("seat", "agent_id", "name")}
        | {"money": money[player["seat"]]}
        for player in started["players"]
    ]
    over = last["type"] == "match_finished"
    return {
        "match_id": started["match_id"],
        "status": "finished" if over else "playing",
        "round": rolls[-1]["round"],
        "turn": rolls[-1]["turn"],
        "players": players,
        "entry_fee_hp": 10,
        "started_at": started["ts"],
        "finished_at": last["ts"] if over else None,
        "winner_seat": last["winner_seat"] if over else None,
        "spectators": 0,
    } | changes


# ---- Health


async def test_a_hub_is_healthy_and_ready(hub: Hub) -> None:
    assert await get(hub, "/healthz") == {"status": "ok", "hub": hub.id}
    assert await get(hub, "/readyz") == {"status": "ready", "hub": hub.id}


async def test_the_live_page_is_at_the_root(hub: Hub) -> None:
    answer = await fetch(hub, "/")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert b"<html" in answer.body


# ---- Matches


async def test_no_matches_are_an_empty_list(hub: Hub) -> None:
    assert await get(hub, "/api/matches") == {"matches": [], "next": None, "waiting": 0}


async def test_waiting_agents_are_counted(hub: Hub) -> None:
    async with play(hub, "ann") as socket:
        await socket.ask(type="join")
        assert await get(hub, "/api/matches") == {"matches": [], "next": None, "waiting": 1}


async def test_a_live_match_is_listed(hub: Hub) -> None:
    async with seat_four(hub) as party:
        await party.turn()
        expected = row(party.sockets[0].events)
        assert (await get(hub, "/api/matches"))["matches"] == [expected]


async def test_a_finished_match_is_listed(hub: Hub) -> None:
    log = await play_booked(hub)
    assert (await get(hub, "/api/matches"))["matches"] == [row(log)]


async def test_spectators_are_counted(hub: Hub) -> None:
    async with seat_four(hub) as party, dial(hub, f"/watch/{party.match_id}") as spectator:
        await spectator.until("crowd")
        expected = row(party.sockets[0].events, spectators=1)
        assert (await get(hub, "/api/matches"))["matches"] == [expected]


async def test_matches_come_newest_first_page_by_page(hub: Hub) -> None:
    played = [(await play_match(hub))[0]["match_id"] for _ in range(5)]
    pages, path = [], "/api/matches?limit=2"
    while path:
        page = await get(hub, path)
        pages.append([match["match_id"] for match in page["matches"]])
        path = f"/api/matches?limit=2&before={page['next']}" if page["next"] else ""
    assert pages == [[played[4], played[3]], [played[2], played[1]], [played[0]]]


async def test_matches_can_be_asked_for_by_status_and_agent(hub: Hub) -> None:
    old = (await play_booked(hub))[0]["match_id"]
    async with seat_four(hub, agents=("ann", "bob", "eve", "fay")) as party:
        new, found = party.match_id, {}
        for query in ("status=playing", "status=finished", "agent=ann", "agent=dee", "agent=eve"):
            matches = (await get(hub, f"/api/matches?{query}"))["matches"]
            found[query] = [match["match_id"] for match in matches]
    assert found == {
        "status=playing": [new],
        "status=finished": [old],
        "agent=ann": [new, old],
        "agent=dee": [old],
        "agent=eve": [new],
    }


async def test_an_unknown_agent_has_no_matches(hub: Hub) -> None:
    await play_match(hub)
    assert (await get(hub, "/api/matches?agent=%00%ff"))["matches"] == []


async def test_an_unknown_status_is_a_bad_request(hub: Hub) -> None:
    assert (await fetch(hub, "/api/matches?status=lost")).error == (400, "bad_request", JSON)


@pytest.mark.parametrize("path", ["/api/matches?limit=500", "/api/matches?limit=1&before=0"])
async def test_limits_of_paging(hub: Hub, path: str) -> None:
    assert (await get(hub, path))["matches"] == []


NO_NUMBERS = ["0", "501", "-1", "x", "1.5", "", "%20", "%C2%B2", "9" * 5000, "0" * 20 + "99999"]


@pytest.mark.parametrize("limit", NO_NUMBERS)
@pytest.mark.parametrize("page", ["matches", "leaderboard"])
async def test_a_bad_limit_is_a_bad_request(hub: Hub, page: str, limit: str) -> None:
    assert (await fetch(hub, f"/api/{page}?limit={limit}")).error == (400, "bad_request", JSON)


@pytest.mark.parametrize("number", ["-1", "x", "1.5", "9" * 17, "%C2%B2", "-inf"])
@pytest.mark.parametrize("path", ["/api/matches?before={}", "/api/leaderboard?after={}"])
async def test_a_bad_cursor_is_a_bad_request(hub: Hub, path: str, number: str) -> None:
    assert (await fetch(hub, path.format(number))).error == (400, "bad_request", JSON)


# ---- One match


async def test_the_summary_of_a_finished_match(hub: Hub) -> None:
    log = await play_match(hub)
    assert await get(hub, f"/api/matches/{log[0]['match_id']}") == log[-1]["summary"]


async def test_the_summary_of_a_live_match_is_its_row(hub: Hub) -> None:
    async with seat_four(hub) as party:
        assert await get(hub, f"/api/matches/{party.match_id}") == row(party.sockets[0].events)


async def test_a_log_is_maps_of_msgpack_back_to_back(hub: Hub) -> None:
    async with seat_four(hub, format="msgpack") as party:
        log = await party.play_out()
        sent = [data for data in party.sockets[0].raw if "ts" in msgpack.unpackb(data)]
    answer = await fetch(hub, f"/api/matches/{log[0]['match_id']}/events")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/vnd.msgpack")
    assert list(msgpack.Unpacker(io.BytesIO(answer.body))) == log
    assert answer.body == b"".join(data for data in sent if isinstance(data, bytes))


async def test_a_log_is_lines_of_json(hub: Hub) -> None:
    log = await play_match(hub, format="json")
    answer = await fetch(hub, f"/api/matches/{log[0]['match_id']}/events?format=ndjson")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/x-ndjson")
    assert [json.loads(line) for line in answer.body.splitlines()] == log


async def test_the_log_of_a_live_match_ends_now(hub: Hub) -> None:
    async with seat_four(hub) as party:
        await party.turn()
        answer = await fetch(hub, f"/api/matches/{party.match_id}/events?format=msgpack")
        assert list(msgpack.Unpacker(io.BytesIO(answer.body))) == party.sockets[0].events


async def test_any_hub_has_the_log(make_hub: MakeHub) -> None:
    log = await play_match(await make_hub())
    answer = await fetch(await make_hub(), f"/api/matches/{log[0]['match_id']}/events")
    assert list(msgpack.Unpacker(io.BytesIO(answer.body))) == log


async def test_an_unknown_format_is_a_bad_request(hub: Hub) -> None:
    match_id = (await play_match(hub))[0]["match_id"]
    answer = await fetch(hub, f"/api/matches/{match_id}/events?format=xml")
    assert answer.error == (400, "bad_request", JSON)


async def test_an_id_may_be_percent_encoded(hub: Hub) -> None:
    log = await play_match(hub)
    encoded = "".join(f"%{ord(character):02x}" for character in log[0]["match_id"])
    assert await get(hub, f"/api/matches/{encoded}") == log[-1]["summary"]
    async with dial(hub, f"/watch/{encoded}?after=0") as spectator:
        await spectator.rest()
        assert spectator.events == log


@pytest.mark.parametrize(
    "match_id", ["nowhere", "%00", "%ff%fe", "%F0%9F%8E%B2", "..", "*", "a%2Fb", ""]
)
@pytest.mark.parametrize("path", ["/api/matches/{}", "/api/matches/{}/events"])
async def test_an_unknown_match_is_not_found(hub: Hub, path: str, match_id: str) -> None:
    assert (await fetch(hub, path.format(match_id))).error == (404, "match_not_found", JSON)


# ---- The leaderboard


async def test_the_leaderboard_has_the_most_hp_first(hub: Hub) -> None:
    log = await play_booked(hub)
    moved = {each["agent_id"]: each for each in log[-1]["summary"]["hp_movement"]}
    board = await get(hub, "/api/leaderboard")
    winner = log[0]["players"][log[-1]["winner_seat"]]["agent_id"]
    assert board["next"] is None
    assert board["agents"][0] == {
        "agent_id": winner,
        "name": winner.title(),
        "hp": 1030,
        "matches": 1,
        "wins": 1,
    }
    assert {each["agent_id"]: each["hp"] for each in board["agents"]} == {
        agent_id: moved[agent_id]["balance"] for agent_id in AGENTS
    }
    assert [each["wins"] for each in board["agents"]] == [1, 0, 0, 0]


async def test_the_leaderboard_comes_page_by_page(hub: Hub) -> None:
    await play_booked(hub)
    whole = (await get(hub, "/api/leaderboard"))["agents"]
    first = await get(hub, "/api/leaderboard?limit=3")
    second = await get(hub, f"/api/leaderboard?limit=3&after={first['next']}")
    assert [*first["agents"], *second["agents"]] == whole
    assert second["next"] is None


async def test_an_agent_that_has_not_played_is_not_on_the_leaderboard(hub: Hub) -> None:
    async with play(hub, "ann"):
        assert await get(hub, "/api/leaderboard") == {"agents": [], "next": None}


# ---- Requests of other kinds


@pytest.mark.parametrize("path", ["/", "/healthz", "/readyz", "/api/matches", "/api/leaderboard"])
async def test_head_is_get_without_the_body(hub: Hub, path: str) -> None:
    get, head = await fetch(hub, path), await fetch(hub, path, method="HEAD")
    assert head == Answer(get.status, get.headers, b"")
    assert int(head.headers["content-length"]) == len(get.body)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW"])
@pytest.mark.parametrize("path", ["/", "/api/matches", "/nowhere", "/play"])
async def test_another_method_is_not_allowed(hub: Hub, method: str, path: str) -> None:
    answer = await fetch(hub, path, method=method)
    assert answer.error == (405, "method_not_allowed", JSON)
    assert answer.headers["allow"] == "GET, HEAD"


NO_PAGES = [
    "/nowhere",
    "/api",
    "/api/",
    "/api/match",
    "/api/matches/a/b",
    "/api/matches/a/events/b",
]
ODD_PATHS = ["/healthz/", "/../etc/passwd", "/%2e%2e", "/web/", "//", "/" + "x" * 8000, "*", "?x"]


@pytest.mark.parametrize("path", NO_PAGES + ODD_PATHS)
async def test_an_unknown_page_is_not_found(hub: Hub, path: str) -> None:
    assert (await fetch(hub, path)).error == (404, "not_found", JSON)


async def test_an_absolute_url_is_taken(hub: Hub) -> None:
    """RFC 9112, 3.2.2."""
    assert (await fetch(hub, "http://example.com/healthz")).status == 200


@pytest.mark.parametrize("path", ["//[", "http://[::1/healthz"])
async def test_a_malformed_url_is_a_bad_request(hub: Hub, path: str) -> None:
    assert (await fetch(hub, path)).error == (400, "bad_request", JSON)


async def test_an_overlong_url_is_refused(hub: Hub) -> None:
    assert (await fetch(hub, "/" + "x" * 10_000)).status == 414


async def test_overlong_headers_are_refused(hub: Hub) -> None:
    assert (await fetch(hub, "/healthz", headers=[("X", "x" * 10_000)])).status == 431


BROKEN = {
    "a_body": b"POST /api/matches HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
    "chunks": b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "raw_utf_8_in_the_path": "GET /\N{GAME DIE} HTTP/1.1\r\n\r\n".encode(),
    "http_2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "no_http": b"hello\r\n\r\n",
    "tls": bytes.fromhex("1603010200010001fc0303") + b"\r\n\r\n",
    "a_bad_header": b"GET / HTTP/1.1\r\nno header\r\n\r\n",
}


@pytest.mark.parametrize("request_bytes", BROKEN.values(), ids=BROKEN)
async def test_a_broken_request_breaks_only_its_own_connection(
    hub: Hub, request_bytes: bytes
) -> None:
    with pytest.raises((IndexError, ConnectionError)):  # no answer, not even a status
        await talk_http(hub, request_bytes)
    assert (await fetch(hub, "/healthz")).status == 200


async def test_the_protocol_describes_itself(hub: Hub) -> None:
    document = await get(hub, "/api/protocol")
    assert document["asyncapi"].startswith("3.")
    assert {"join", "roll", "bye"} <= {each.lower() for each in document["components"]["messages"]}
