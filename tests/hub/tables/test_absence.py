"""Seats whose sockets come and go, and turns that nobody takes (RULES.md, An absent agent)."""

import asyncio

from hub.app import Hub
from tests.clients import (
    Map,
    Socket,
    balances,
    dial,
    placement,
    play,
    play_out,
    seat_four,
)
from tests.conftest import MakeHub


async def test_presence_tells_of_sockets_that_come_and_go(make_hub: MakeHub) -> None:
    hub, other_hub = await make_hub(), await make_hub()
    async with seat_four(hub, other_hub) as party:
        leaver, witness = party.sockets[1], party.sockets[2]
        await leaver.connection.close()
        presence = {"type": "presence", "match_id": party.match_id, "seat": 1}
        assert await witness.until("presence") == {**presence, "connected": False}
        connected = [each["connected"] for each in (await synced(witness))["players"]]
        assert connected == [True, False, True, True]
        async with play(hub, leaver.agent_id):
            assert await witness.until("presence") == {**presence, "connected": True}


async def synced(socket: Socket) -> Map:
    state: Map = (await socket.ask(type="sync"))["state"]
    return state


async def test_a_second_socket_is_no_news(hub: Hub) -> None:
    async with seat_four(hub) as party:
        async with play(hub, party.sockets[1].agent_id) as second:
            await second.until("snapshot")
        await party.turn()
        assert all(each["type"] != "presence" for each in party.sockets[0].heard)


async def test_an_absent_agent_is_placed_for_and_hurried(make_hub: MakeHub) -> None:
    hub = await make_hub(turn_ms=9, away_ms=5)
    async with seat_four(hub) as party:
        log = await until_finished(party.sockets[0])
    placed = [event for event in log if event["type"] == "placed"]
    rolls = [event for event in log if event["type"] == "roll"]
    assert all(event["is_auto"] for event in placed)
    assert [event["face"] for event in placed] == [most_rolled(roll["dice"]) for roll in rolls]
    for seat in range(4):
        lengths = [roll["turn_ms"] for roll in rolls if roll["seat"] == seat]
        assert lengths == [9, 9] + [5] * (len(lengths) - 2)
        away = [event.get("away", False) for event in placed if event["seat"] == seat]
        assert away == [False] + [True] * (len(away) - 1)


def most_rolled(dice: list[int]) -> int:
    return max(dice, key=lambda face: (dice.count(face), face))


async def until_finished(socket: Socket) -> list[Map]:
    await socket.until("match_finished")
    return socket.events


async def test_a_match_without_an_act_returns_the_stakes(make_hub: MakeHub) -> None:
    hub = await make_hub(turn_ms=5, away_ms=5, platform_fee_bps=500)
    async with dial(hub, "/watch") as lobby, seat_four(hub) as party:
        finished = (await until_finished(party.sockets[0]))[-1]
        await lobby.until("match_closed")
    assert (finished["finish_reason"], finished["winner_seat"]) == ("no_actions", None)
    moved = finished["summary"]["hp_movement"]
    assert [(each["movement"], each["balance"]) for each in moved] == [(0, 1000)] * 4
    assert await balances(hub) == [1000] * 4
    assert await hub.lobby.total_hp() == 4000


async def test_an_act_of_ones_own_ends_the_hurry(make_hub: MakeHub) -> None:
    hub = await make_hub(turn_ms=200, away_ms=60_000)  # an away seat's turn is as long as it takes
    async with seat_four(hub) as party:
        absent, *present = party.sockets
        playing = [asyncio.create_task(play_out(socket)) for socket in present]
        rolls = [party.roll]
        while len(rolls) < 4:
            roll = await absent.until("roll")
            if roll["seat"] == 0:
                rolls.append(roll)
                if roll["turn_ms"] == 60_000:
                    await absent.send(**placement(roll))
        await asyncio.gather(play_out(absent), *playing)
    assert [roll["turn_ms"] for roll in rolls] == [200, 200, 60_000, 200]
