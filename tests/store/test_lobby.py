import asyncio

import pytest

from hub.store.lobby import (
    WAITING_LIMIT,
    Closed,
    Formed,
    InQueue,
    JoinRequest,
    NotQueued,
    Seated,
    Standing,
    Waiting,
    read_notice,
)
from protocol.messages import AgentId, MatchId
from tests.store.conftest import MakeParts
from tests.store.parties import ANA, BO, CY, DEE, M1, M2, ROW, party, queue, request, results, seat
from tests.store.parts import AGENTS, PATIENCE_SECONDS, Ear, Parts, listed

# ---- Agents


async def test_a_newcomer_gets_its_starting_hp(parts: Parts) -> None:
    standing = await parts.lobby.enter(ANA, "Ana", parts.id)
    assert standing == Standing(1000, None, queued=False, first=True)


async def test_a_second_visit_brings_nothing(parts: Parts) -> None:
    await parts.lobby.enter(ANA, "Ana", parts.id)
    await parts.lobby.grant(ANA, -300)
    standing = await parts.lobby.enter(ANA, "Ana", parts.id)
    assert standing == Standing(700, None, queued=False, first=False)


async def test_an_agent_learns_that_it_is_queued(parts: Parts) -> None:
    await queue(parts, [ANA])
    standing = await parts.lobby.enter(ANA, "Ana", "another hub")
    assert standing == Standing(1000, None, queued=True, first=False)


async def test_an_agent_learns_where_it_sits(parts: Parts) -> None:
    await seat(parts)
    standing = await parts.lobby.enter(ANA, "Ana", parts.id)
    assert standing == Standing(990, M1, queued=False, first=False)


async def test_an_agent_is_connected_while_one_hub_vouches_for_it(parts: Parts) -> None:
    await parts.lobby.enter(ANA, "Ana", "hub-1")
    await parts.lobby.enter(ANA, "Ana", "hub-2")
    assert await parts.lobby.connected([ANA, BO]) == [True, False]
    assert await parts.lobby.vouch(ANA, "hub-1", connected=False)
    assert await parts.lobby.connected([ANA]) == [True]
    assert not await parts.lobby.vouch(ANA, "hub-2", connected=False)
    assert await parts.lobby.connected([ANA]) == [False]


async def test_a_hub_s_word_runs_out(make_parts: MakeParts) -> None:
    parts = make_parts(presence_ms=20)
    await parts.lobby.enter(ANA, "Ana", "hub-1")
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await parts.lobby.connected([ANA]) == [True]:
            pass
    assert (await parts.lobby.enter(ANA, "Ana", "hub-2")).first


async def test_a_hub_s_word_that_has_run_out_ends_though_another_s_has_not(
    make_parts: MakeParts,
) -> None:
    short, long = make_parts(presence_ms=50), make_parts()
    await short.lobby.enter(ANA, "Ana", "hub-1")
    await long.lobby.enter(ANA, "Ana", "hub-2")
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await long.lobby.vouch(ANA, "hub-2", connected=False):
            await long.lobby.vouch(ANA, "hub-2", connected=True)


async def test_hp_is_granted_and_taken(parts: Parts) -> None:
    await parts.lobby.enter(ANA, "Ana", parts.id)
    assert await parts.lobby.grant(ANA, 50) == (1000, 1050)
    assert await parts.lobby.grant(ANA, -51) == (1050, 999)


async def test_hp_never_goes_below_nothing(parts: Parts) -> None:
    await parts.lobby.enter(ANA, "Ana", parts.id)
    assert await parts.lobby.grant(ANA, -1001) == (1000, 0)


async def test_a_grant_to_a_newcomer_comes_on_top_of_its_starting_hp(parts: Parts) -> None:
    assert await parts.lobby.grant(ANA, 50) == (1000, 1050)
    assert (await parts.lobby.enter(ANA, "Ana", parts.id)).hp == 1050


async def test_hp_is_exact_as_far_as_the_protocol_s_integers_go(parts: Parts) -> None:
    most = 2**53 - 1
    await parts.lobby.grant(ANA, most - 1000)
    assert (await parts.lobby.enter(ANA, "Ana", parts.id)).hp == most
    assert await parts.lobby.grant(ANA, -1) == (most, most - 1)


# ---- Queue


async def test_agents_queue_in_order_of_arrival(parts: Parts) -> None:
    for place, agent_id in enumerate(AGENTS, 1):
        await parts.lobby.enter(agent_id, agent_id, parts.id)
        assert await parts.lobby.join(agent_id, request()) == InQueue(place, place)
    assert [each.agent_id for each in await parts.lobby.waiting()] == list(AGENTS)
    assert await parts.lobby.count_waiting() == 4


async def test_the_queue_holds_what_agents_asked_for(parts: Parts) -> None:
    asked = JoinRequest("Añá", "salt", 5, 500, True)
    (ticket,) = await queue(parts, [ANA], asked)
    assert await parts.lobby.waiting() == [Waiting(ANA, ticket, asked, 1000)]


async def test_an_agent_queues_once(parts: Parts) -> None:
    tickets = await queue(parts, [ANA, BO])
    assert await parts.lobby.join(ANA, request(0, 0)) == NotQueued("already_queued")
    assert await parts.lobby.waiting() == [
        Waiting(ANA, tickets[0], request(), 1000),
        Waiting(BO, tickets[1], request(), 1000),
    ]


async def test_a_seated_agent_can_not_queue(parts: Parts) -> None:
    await seat(parts)
    assert await parts.lobby.join(ANA, request()) == NotQueued("already_seated", M1)


async def test_an_agent_that_can_not_pay_its_lowest_fee_can_not_queue(parts: Parts) -> None:
    await parts.lobby.enter(ANA, "Ana", parts.id)
    refusal = NotQueued("insufficient_hp", "1000")
    assert await parts.lobby.join(ANA, request(1001, 2000)) == refusal
    assert await parts.lobby.join(ANA, request(1000, 2000)) == InQueue(1, 1)


async def test_an_agent_that_leaves_loses_its_place(parts: Parts) -> None:
    await queue(parts, [ANA, BO])
    await parts.lobby.leave(ANA)
    await queue(parts, [ANA])
    assert [each.agent_id for each in await parts.lobby.waiting()] == [BO, ANA]


async def test_an_absent_agent_is_passed_over_and_keeps_its_place(parts: Parts) -> None:
    await queue(parts)
    await parts.lobby.vouch(BO, parts.id, connected=False)
    assert [each.agent_id for each in await parts.lobby.waiting()] == [ANA, CY, DEE]
    assert await parts.lobby.count_waiting() == 4
    await parts.lobby.enter(BO, "Bo", "another hub")
    assert [each.agent_id for each in await parts.lobby.waiting()] == list(AGENTS)


async def test_any_number_of_absent_agents_does_not_hide_those_behind_them(parts: Parts) -> None:
    ghosts = [AgentId(f"ghost{number}") for number in range(WAITING_LIMIT)]
    for ghost in ghosts:
        await parts.lobby.grant(ghost, 0)
    await asyncio.gather(*(parts.lobby.join(ghost, request()) for ghost in ghosts))
    await queue(parts)
    assert [each.agent_id for each in await parts.lobby.waiting()] == list(AGENTS)


async def test_only_so_many_waiting_agents_are_listed(parts: Parts) -> None:
    agents = [AgentId(f"agent{number:03}") for number in range(WAITING_LIMIT + 1)]
    await asyncio.gather(*(parts.lobby.enter(each, each, parts.id) for each in agents))
    await asyncio.gather(*(parts.lobby.join(each, request()) for each in agents))
    assert [each.agent_id for each in await parts.lobby.waiting()] == agents[:-1]


# ---- Forming


async def test_a_party_is_seated_and_pays(parts: Parts) -> None:
    tickets = await queue(parts)
    formed = Formed(party(), (990,) * 4)
    assert await parts.lobby.form(M1, party(), tickets) == formed
    assert await parts.lobby.forming() == {M1: formed}
    assert await parts.lobby.seats(AGENTS) == [M1] * 4
    assert await parts.lobby.waiting() == []
    assert await parts.balances() == [990] * 4
    assert await parts.lobby.total_hp() == 4000


@pytest.mark.parametrize("extra", [7, 2**31, 2**45])
async def test_a_formed_party_knows_the_balances_as_they_were_left(
    parts: Parts, extra: int
) -> None:
    tickets = await queue(parts)
    await parts.lobby.grant(BO, extra)
    formed = Formed(party(), (990, 990 + extra, 990, 990))
    assert await parts.lobby.form(M1, party(), tickets) == formed
    assert await parts.lobby.forming() == {M1: formed}


async def test_a_party_can_not_be_formed_when_one_has_left(parts: Parts) -> None:
    tickets = await queue(parts)
    await parts.lobby.leave(DEE)
    assert await parts.lobby.form(M1, party(), tickets) is None
    assert await parts.lobby.seats(AGENTS) == [None] * 4
    assert await parts.balances() == [1000] * 4
    assert await parts.lobby.forming() == {}


async def test_a_party_can_not_be_formed_when_one_has_left_and_come_back(parts: Parts) -> None:
    tickets = await queue(parts)
    await parts.lobby.leave(DEE)
    await queue(parts, [DEE], request(0, 0))
    assert await parts.lobby.form(M1, party(), tickets) is None
    assert await parts.balances() == [1000] * 4


async def test_a_party_can_not_be_formed_when_one_can_not_pay_any_more(parts: Parts) -> None:
    tickets = await queue(parts)
    await parts.lobby.grant(DEE, -991)
    assert await parts.lobby.form(M1, party(), tickets) is None
    assert await parts.balances() == [1000, 1000, 1000, 9]
    assert [each.agent_id for each in await parts.lobby.waiting()] == list(AGENTS)


async def test_a_party_is_formed_once(make_parts: MakeParts) -> None:
    hubs = [make_parts() for _ in range(4)]
    tickets = await queue(hubs[0])
    formed = await asyncio.gather(
        *(hub.lobby.form(MatchId(f"m{n}"), party(), tickets) for n, hub in enumerate(hubs))
    )
    assert sorted(formed, key=repr) == [Formed(party(), (990,) * 4), None, None, None]
    assert await hubs[0].balances() == [990] * 4
    assert len(await hubs[0].lobby.forming()) == 1


async def test_a_table_is_live_once_its_forming_is_closed(parts: Parts) -> None:
    await seat(parts)
    assert await parts.lobby.live() == []
    await parts.lobby.formed(ROW)
    assert await parts.lobby.forming() == {}
    assert await parts.lobby.live() == [M1]
    assert await parts.lobby.rows([M1, M2]) == [ROW]


async def test_everyone_hears_once_who_was_seated(parts: Parts) -> None:
    ear = Ear(parts.keys.lobby_feed)
    await parts.listen()
    await parts.feed.subscribe(ear.subscription)
    await seat(parts)
    await parts.lobby.formed(ROW)
    await parts.lobby.formed(ROW)
    await parts.lobby.book(ROW, results(), 0)
    notices = [read_notice(message) for message in await ear.hear(2)]
    assert notices == [Seated(ROW, AGENTS), Closed(ROW)]


async def test_a_match_that_is_over_when_its_forming_is_closed_does_not_come_alive(
    parts: Parts,
) -> None:
    finished = listed(M1, status="finished", finished_at=2)
    await seat(parts)
    await parts.lobby.book(finished, results(), 0)
    await parts.lobby.formed(ROW)
    assert await parts.lobby.forming() == {}
    assert await parts.lobby.live() == []
    assert await parts.lobby.rows([M1]) == [finished]
