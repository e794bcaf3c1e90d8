"""How much a socket may send, and how late a placement may come."""

import asyncio
from contextlib import suppress

import pytest
from websockets.exceptions import ConnectionClosed

from hub.app import Hub
from hub.tables.deadlines import Clock
from tests.clients import Format, Map, Party, pack, play, seat_four
from tests.conftest import MakeHub

# ---- Rates


async def test_too_many_messages_are_refused_under_their_ids(
    make_hub: MakeHub, format: Format
) -> None:
    hub = await make_hub(messages_per_second=1, message_burst=3)
    async with play(hub, "ann", format=format) as ann:
        for id in ("a", "b", "c", "d"):
            await ann.send(type="leave", id=id)
        refused = await ann.until("error")
        assert 1 <= refused.pop("retry_ms") <= 1000
        assert refused == {
            "type": "error",
            "id": "d",
            "code": "rate_limited",
            "message": "you may send 1 messages a second",
        }
        assert [reply["id"] for reply in ann.heard[1:4]] == ["a", "b", "c"]


async def test_a_refused_action_left_no_trace(make_hub: MakeHub) -> None:
    hub = await make_hub(messages_per_second=1, message_burst=2)
    async with seat_four(hub) as party:
        agent = party.current
        await agent.send(type="leave")
        refused = await agent.place(party.roll)
        assert refused["code"] == "rate_limited"
        async with play(hub, agent.agent_id) as other:
            taken = await other.place(party.roll, message="x")
            assert (taken["type"], taken["replayed"]) == ("ack", False)


async def test_each_socket_has_its_own_allowance(make_hub: MakeHub) -> None:
    hub = await make_hub(messages_per_second=1, message_burst=1)
    async with play(hub, "ann") as one, play(hub, "ann") as two:
        replies = [await socket.ask(type="leave") for socket in (one, two)]
        assert [reply["type"] for reply in replies] == ["left", "left"]


async def test_bad_messages_count(make_hub: MakeHub) -> None:
    hub = await make_hub(messages_per_second=1, message_burst=2)
    async with play(hub, "ann", format="json") as ann:
        for _ in range(3):
            await ann.connection.send("x")
        codes = [(await ann.until("error"))["code"] for _ in range(3)]
        assert codes == ["bad_message", "bad_message", "rate_limited"]


async def test_flooding_ends_the_connection(make_hub: MakeHub, format: Format) -> None:
    hub = await make_hub(messages_per_second=1, message_burst=2)
    async with seat_four(hub, format=format) as party:
        flooder, data = party.others[0], pack({"type": "leave"}, format)
        with suppress(ConnectionClosed):
            for _ in range(2000):
                await flooder.connection.send(data)
        bye, close_code = await flooder.end()
        assert 1 <= bye.pop("retry_ms") <= 1000
        assert bye == {
            "type": "bye",
            "code": 1008,
            "reason": "too many messages",
            "reconnect": True,
        }
        assert close_code == 1008
        assert (await party.current.place(party.roll))["type"] == "ack"


# ---- Deadlines


@pytest.fixture
async def stopped_clock_hub(make_hub: MakeHub, monkeypatch: pytest.MonkeyPatch) -> Hub:
    """A hub that never places for anyone: its clock stands still. Turns last 1 ms."""

    async def stand_still(_clock: Clock) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(Clock, "run", stand_still)
    return await make_hub(turn_ms=1, away_ms=1)


async def pass_deadline(hub: Hub, party: Party) -> None:
    """Wait until the store's clock is past the deadline."""
    while True:
        seconds, microseconds = map(int, await hub.link.call("TIME"))
        if seconds * 1000 + microseconds // 1000 >= party.roll["deadline"]:
            return


async def test_a_placement_after_the_deadline_is_refused(
    stopped_clock_hub: Hub, format: Format
) -> None:
    hub = stopped_clock_hub
    async with seat_four(hub, format=format) as party:
        await pass_deadline(hub, party)
        reply = await party.current.place(party.roll)
        assert (reply["type"], reply["code"]) == ("error", "deadline_passed")
        assert reply["message"].startswith("the deadline of turn 1 has passed")
        await hub.clock.tick()
        placed = [await socket.until("placed") for socket in party.sockets]
        assert [(each["seq"], each["is_auto"]) for each in placed] == [(4, True)] * 4


async def test_after_the_placement_of_the_hub_an_action_is_stale(stopped_clock_hub: Hub) -> None:
    hub = stopped_clock_hub
    async with seat_four(hub) as party:
        late: Map = party.roll
        await pass_deadline(hub, party)
        await hub.clock.tick()
        await party.hear(5)
        reply = await party.sockets[late["seat"]].place(late)
        assert reply["code"] == "stale_turn"
