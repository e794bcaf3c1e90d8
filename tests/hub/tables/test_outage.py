"""A store that goes away and comes back: sockets stay open and nothing is lost."""

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hub.app import Hub
from hub.store.link import Link
from tests.clients import Answer, Map, Party, Socket, dial, fetch, knock, placement, play, seat_four
from tests.clients import bearer as bearer_header
from tests.conftest import MakeHub
from tests.store.valkey import OwnValkey

JSON = "application/json"


class Store(OwnValkey):
    """A server that can be stopped whether or not it was killed."""

    is_up = False

    def start(self) -> None:
        super().start()
        self.is_up = True

    def kill(self) -> None:
        super().kill()
        self.is_up = False


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "valkey")
    store.start()
    yield store
    if store.is_up:
        store.stop()


@pytest.fixture
async def hub(make_hub: MakeHub, store: Store) -> Hub:
    return await make_hub(url=store.url)


async def until_ready(hub: Hub) -> None:
    while (await fetch(hub, "/readyz")).status != 200:  # noqa: ASYNC110 - nobody is told
        await asyncio.sleep(0.01)


async def insist(socket: Socket, **message: Any) -> Map:
    """Send a command again and again, as the hub asks for, until its outcome is known."""
    while True:
        reply = await socket.ask(**message)
        if reply.get("code") != "unavailable":
            return reply


async def test_an_action_waits_for_the_store_and_counts_once(hub: Hub, store: Store) -> None:
    async with seat_four(hub) as party:
        agent, action = party.current, {**placement(party.roll), "id": "the key"}
        store.kill()
        reply = await agent.ask(**action)
        assert (reply["code"], reply["retry_ms"] > 0) == ("unavailable", True)
        assert "send it again" in reply["message"]
        store.start()
        ack = await insist(agent, **action)
        assert (ack["type"], ack["seq"], ack["replayed"]) == ("ack", 4, False)
        assert await agent.ask(**action) == {**ack, "replayed": True}
        await assert_goes_on(party)


async def assert_goes_on(party: Party) -> None:
    """Play to the end over the sockets there are; each hears every event once."""
    await party.hear(5)
    log = await party.play_out()
    for socket in party.sockets:
        assert socket.events == log
    assert [event["seq"] for event in log] == list(range(1, len(log) + 1))


async def test_an_action_that_was_committed_unheard_is_not_repeated(
    make_hub: MakeHub, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store takes the action while the hub no longer waits for the answer."""
    monkeypatch.setattr("hub.app.Link", partial(Link, answer_seconds=0.2))
    hub = await make_hub(url=store.url)
    async with seat_four(hub) as party:
        agent, action = party.current, {**placement(party.roll), "id": "the key"}
        store.pause()
        assert (await agent.ask(**action))["code"] == "unavailable"
        store.resume()
        ack = await insist(agent, **action)
        assert (ack["type"], ack["seq"], ack["replayed"]) == ("ack", 4, True)
        await assert_goes_on(party)


@pytest.mark.parametrize(
    "command",
    [
        {"type": "join"},
        {"type": "leave"},
        {"type": "sync"},
        {"type": "sync", "match_id": "m"},
        {"type": "action", "match_id": "m", "turn": 1, "action": "place", "params": {"face": 1}},
    ],
    ids=["join", "leave", "sync", "sync_of", "action"],
)
async def test_every_command_says_unavailable(hub: Hub, store: Store, command: Map) -> None:
    async with play(hub, "ann") as ann:
        store.kill()
        reply = await ann.ask(**command)
        assert (reply["code"], reply["retry_ms"] > 0) == ("unavailable", True)
        store.start()
        assert (await insist(ann, type="leave"))["type"] == "left"


async def test_everyone_is_told_once(hub: Hub, store: Store) -> None:
    async with seat_four(hub) as party, dial(hub, f"/watch/{party.match_id}") as spectator:
        await spectator.until("snapshot")
        store.kill()
        for socket in (*party.sockets, spectator):
            told = await socket.until("error")
            assert (told["code"], "id" in told, told["retry_ms"]) == ("unavailable", False, 1000)
        store.start()
        await until_ready(hub)
        await party.turn()
        for socket in (*party.sockets, spectator):
            assert [message["type"] for message in socket.heard].count("error") == 1


async def test_spectators_lose_no_event(hub: Hub, store: Store) -> None:
    async with seat_four(hub) as party, dial(hub, f"/watch/{party.match_id}?after=0") as spectator:
        await spectator.until("roll")
        store.kill()
        await party.current.ask(type="leave")
        store.start()
        await until_ready(hub)
        log = await party.play_out()
        await spectator.rest()
        assert spectator.events == log


async def test_pages_say_unavailable_and_recover(hub: Hub, store: Store) -> None:
    store.kill()
    paths = ["/api/matches", "/api/leaderboard", "/api/matches/m", "/api/matches/m/events"]
    for path in [*paths, "/readyz"]:
        assert (await fetch(hub, path)).error == (503, "unavailable", JSON)
    assert (await fetch(hub, "/healthz")).status == 200
    store.start()
    await until_ready(hub)
    assert [(await fetch(hub, path)).status for path in paths] == [200, 200, 404, 404]


@pytest.mark.parametrize("path", ["/watch/m", "/play?match_id=m&after=0"])
async def test_a_socket_for_a_match_is_refused(hub: Hub, store: Store, path: str) -> None:
    store.kill()
    answer: Answer = await knock(hub, path, *bearer_header("ann").items())
    assert answer.error == (503, "unavailable", JSON)
    assert answer.headers["retry-after"] == "1"


async def test_an_agents_socket_is_sent_away(hub: Hub, store: Store) -> None:
    store.kill()
    async with dial(hub, "/play", headers=bearer_header("ann")) as ann:
        bye, close_code = await ann.end()
        assert (bye["code"], bye["reconnect"], bye["retry_ms"] > 0) == (1013, True, True)
        assert close_code == 1013


async def test_a_lobby_opens_when_the_store_is_back(hub: Hub, store: Store) -> None:
    store.kill()
    async with dial(hub, "/watch") as lobby:
        store.start()
        assert await lobby.until("lobby") == {"type": "lobby", "live": [], "waiting": 0}


async def test_a_spectator_that_comes_as_the_store_goes_is_sent_away(
    hub: Hub, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with seat_four(hub) as party:
        load = hub.tables.load

        async def load_too_late(match_id: str, key: str = "") -> Any:
            store.kill()
            return await load(match_id, key)

        monkeypatch.setattr(hub.tables, "load", load_too_late)
        monkeypatch.setattr(hub.relay, "_open", {})  # as on a hub that does not follow the match
        async with dial(hub, f"/watch/{party.match_id}") as spectator:
            bye, close_code = await spectator.end()
            assert (bye["code"], bye["reconnect"], bye["retry_ms"] > 0) == (1013, True, True)
            assert close_code == 1013


async def test_a_hub_stops_while_the_store_is_away(hub: Hub, store: Store) -> None:
    async with seat_four(hub) as party, dial(hub, "/watch"):
        store.kill()
        await hub.stop()
        assert [(await socket.end())[1] for socket in party.sockets] == [1001] * 4


async def test_a_hub_stops_while_a_socket_waits_for_the_store(
    make_hub: MakeHub, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub, other_hub = [await make_hub(url=store.url, drain_seconds=0.1) for _ in range(2)]
    async with seat_four(hub) as party:
        count, is_gone = other_hub.tables.crowds, asyncio.Event()

        async def count_at_last(match_ids: list[str]) -> list[int]:
            counts = await count(match_ids)
            store.kill()
            is_gone.set()
            return counts

        monkeypatch.setattr(other_hub.tables, "crowds", count_at_last)
        async with dial(other_hub, f"/watch/{party.match_id}") as spectator:
            await is_gone.wait()
            await other_hub.stop()
            assert (await spectator.end())[1] == 1001
