"""An action counts once, however often and wherever its id is sent (PROTOCOL.md, Exactly once)."""

import asyncio
from typing import Any

import pytest

from hub.app import Hub
from tests.clients import Format, Map, placement, play, seat_four
from tests.conftest import MakeHub


def action(roll: Map, **params: Any) -> Map:
    return {**placement(roll, **params), "id": "the key"}


def replay(ack: Map) -> Map:
    return {**ack, "replayed": True}


async def test_an_id_sent_again_gets_the_first_result(hub: Hub, format: Format) -> None:
    async with seat_four(hub, format=format) as party:
        agent, sent = party.current, action(party.roll, message="once", nonce="n")
        ack = await agent.ask(**sent)
        assert (ack["replayed"], ack["turn"], ack["seq"]) == (False, 1, 5)
        assert await agent.ask(**sent) == replay(ack)
        await party.hear(ack["seq"] + 1)
        assert (await party.turn())["seq"] == ack["seq"] + 2


async def test_two_sendings_at_once_place_once(hub: Hub) -> None:
    async with seat_four(hub) as party:
        agent, sent = party.current, action(party.roll)
        async with play(hub, agent.agent_id) as other:
            first, second = await asyncio.gather(agent.ask(**sent), other.ask(**sent))
        assert sorted(ack["replayed"] for ack in (first, second)) == [False, True]
        assert first["seq"] == second["seq"] == 4


async def test_an_id_sent_again_elsewhere_gets_the_first_result(
    make_hub: MakeHub, format: Format
) -> None:
    hub, other_hub = await make_hub(), await make_hub()
    async with seat_four(hub, format=format) as party:
        agent_id, sent = party.current.agent_id, action(party.roll)
        ack = await party.current.ask(**sent)
        async with play(hub, agent_id) as again:
            assert await again.ask(**sent) == replay(ack)
        async with play(other_hub, agent_id) as elsewhere:
            assert await elsewhere.ask(**sent) == replay(ack)


async def test_an_id_sent_again_after_the_match_gets_the_first_result(make_hub: MakeHub) -> None:
    hub, other_hub = await make_hub(), await make_hub()
    async with seat_four(hub) as party:
        agent, sent = party.current, action(party.roll)
        ack = await agent.ask(**sent)
        await party.hear(ack["seq"] + 1)
        await party.play_out()
        assert await agent.ask(**sent) == replay(ack)
        async with play(other_hub, agent.agent_id) as elsewhere:
            assert await elsewhere.ask(**sent) == replay(ack)


@pytest.mark.parametrize(
    "changes",
    [{"message": "other"}, {"nonce": "other"}, {"face": 7}],
    ids=["message", "nonce", "face"],
)
async def test_an_id_with_other_content_is_refused(hub: Hub, format: Format, changes: Map) -> None:
    async with seat_four(hub, format=format) as party:
        agent, roll = party.current, party.roll
        ack = await agent.ask(**action(roll))
        reply = await agent.ask(**action(roll, **changes))
        assert (reply["type"], reply["code"]) == ("error", "key_reused")
        assert "'the key' belongs to another action" in reply["message"]
        assert await agent.ask(**action(roll)) == replay(ack)


async def test_an_id_of_an_earlier_turn_is_refused_in_a_later_one(hub: Hub) -> None:
    async with seat_four(hub) as party:
        agent = party.current
        await party.turn(id="the key")
        while party.current is not agent:
            await party.turn()
        reply = await agent.ask(**action(party.roll))
        assert reply["code"] == "key_reused"
        assert (await party.turn())["replayed"] is False


async def test_an_id_is_each_agents_own(hub: Hub) -> None:
    async with seat_four(hub) as party:
        await party.turn(id="the key")
        assert (await party.turn(id="the key"))["replayed"] is False


async def test_an_action_without_an_id_counts(hub: Hub) -> None:
    async with seat_four(hub) as party:
        await party.current.send(**placement(party.roll))
        assert "id" not in await party.current.until("ack")
