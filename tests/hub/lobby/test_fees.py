"""What matches cost and pay: fees, HP and who may sit together (RULES.md, Score)."""

import asyncio
from typing import Any

from hub.app import Hub
from tests.clients import (
    AGENTS,
    balances,
    dial,
    play,
    play_match,
    seat_four,
)
from tests.conftest import MakeHub


async def test_the_fee_is_the_midpoint_of_the_overlap(hub: Hub) -> None:
    ranges = [(0, 100), (20, 51), (30, 1000), (10, 60)]
    async with (
        play(hub, "ann") as ann,
        play(hub, "bob") as bob,
        play(hub, "cyd") as cyd,
        play(hub, "dee") as dee,
    ):
        for agent, (low, high) in zip((ann, bob, cyd, dee), ranges, strict=True):
            await agent.ask(type="join", fee_min=low, fee_max=high)
        started = await ann.until("match_started")
        assert (started["entry_fee_hp"], started["pot_hp"]) == (40, 160)


async def test_agents_with_disjoint_ranges_are_not_seated_together(hub: Hub) -> None:
    fees: dict[str, tuple[int, int]] = {
        "ann": (1, 5),
        "bob": (6, 9),
        "cyd": (6, 9),
        "dee": (6, 9),
        "eve": (0, 9),
    }
    async with (
        play(hub, "ann") as ann,
        play(hub, "bob") as bob,
        play(hub, "cyd") as cyd,
        play(hub, "dee") as dee,
        play(hub, "eve") as eve,
    ):
        for agent in (ann, bob, cyd, dee, eve):
            low, high = fees[agent.agent_id]
            await agent.ask(type="join", fee_min=low, fee_max=high)
        started = await eve.until("match_started")
        seated = {player["agent_id"] for player in started["players"]}
        assert (seated, started["entry_fee_hp"]) == ({"bob", "cyd", "dee", "eve"}, 7)


async def test_a_free_match_moves_no_hp_and_counts_for_nobody(hub: Hub) -> None:
    async with dial(hub, "/watch") as lobby:
        log = await play_match(hub, fee_min=0, fee_max=0)
        await lobby.until("match_closed")
    assert (log[0]["entry_fee_hp"], log[0]["pot_hp"]) == (0, 0)
    assert [each["movement"] for each in log[-1]["summary"]["hp_movement"]] == [0] * 4
    assert await balances(hub) == [1000] * 4
    assert await hub.lobby.leaderboard(0, 10) == []


async def test_the_winner_takes_the_pot_less_the_platforms_part(make_hub: MakeHub) -> None:
    hub = await make_hub(platform_fee_bps=333, entry_fee_hp=25)
    async with dial(hub, "/watch") as lobby:
        finished = (await play_match(hub))[-1]
        await lobby.until("match_closed")
    moved = finished["summary"]["hp_movement"]
    expected = [72 if each["seat"] == finished["winner_seat"] else -25 for each in moved]
    assert [each["movement"] for each in moved] == expected
    assert [each["balance"] for each in moved] == [1000 + each for each in expected]
    by_agent = {each["agent_id"]: each["balance"] for each in moved}
    assert await balances(hub) == [by_agent[agent_id] for agent_id in AGENTS]
    assert await hub.lobby.total_hp() == 4000


async def test_hp_is_conserved_at_every_moment(make_hub: MakeHub) -> None:
    hub = await make_hub(platform_fee_bps=1000)
    async with seat_four(hub, continuous=True) as party:
        totals = [await hub.lobby.total_hp()]
        for _ in range(3):
            await party.play_out()
            totals.append(await hub.lobby.total_hp())
            await asyncio.gather(*(socket.until("roll") for socket in party.sockets))
            totals.append(await hub.lobby.total_hp())
    assert totals == [4000] * 7


async def test_an_agent_that_can_no_longer_pay_is_told(make_hub: MakeHub) -> None:
    hub = await make_hub(starting_hp=15)
    async with seat_four(hub, continuous=True) as party:
        log = await party.play_out()
        losers: list[Any] = [each for seat, each in enumerate(party.sockets)]
        del losers[log[-1]["winner_seat"]]
        errors = [await socket.until("error") for socket in losers]
    assert [error["code"] for error in errors] == ["insufficient_hp"] * 3
