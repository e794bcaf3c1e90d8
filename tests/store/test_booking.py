import asyncio

import pytest

from hub.store.lobby import (
    Broke,
    Closed,
    InQueue,
    read_notice,
)
from protocol.messages import AgentId, ListedAgent
from tests.store.parties import ANA, BO, CY, DEE, M1, M2, ROW, party, queue, request, results, seat
from tests.store.parts import AGENTS, Ear, Parts, listed

# ---- Booking


async def test_a_result_pays_and_frees_the_seats(parts: Parts) -> None:
    await seat(parts)
    await parts.lobby.formed(ROW)
    assert await parts.lobby.book(ROW, results(winner=CY), 0)
    assert await parts.balances() == [990, 990, 1030, 990]
    assert await parts.lobby.seats(AGENTS) == [None] * 4
    assert await parts.lobby.live() == []
    assert await parts.lobby.total_hp() == 4000


async def test_a_result_is_booked_once(parts: Parts) -> None:
    await seat(parts)
    booked = await asyncio.gather(*(parts.lobby.book(ROW, results(winner=CY), 0) for _ in range(5)))
    assert booked == [True, False, False, False, False]
    assert await parts.balances() == [990, 990, 1030, 990]


async def test_the_platform_s_fee_is_kept_and_counted(parts: Parts) -> None:
    await seat(parts)
    await parts.lobby.book(ROW, results(winner=CY, payout=37), 3)
    assert await parts.balances() == [990, 990, 1027, 990]
    assert await parts.lobby.total_hp() == 4000


async def test_agents_that_want_to_are_queued_again(parts: Parts) -> None:
    await seat(parts, continuous=True)
    await queue(parts, [AgentId("eve")])
    await parts.lobby.book(ROW, results(winner=CY), 0)
    waiting = await parts.lobby.waiting()
    assert [each.agent_id for each in waiting] == ["eve", *AGENTS]
    assert waiting[1].request == request(continuous=True)


async def test_an_agent_that_leaves_while_seated_is_not_queued_again(parts: Parts) -> None:
    await seat(parts, continuous=True)
    await parts.lobby.leave(BO)
    await parts.lobby.book(ROW, results(winner=CY), 0)
    assert [each.agent_id for each in await parts.lobby.waiting()] == [ANA, CY, DEE]


async def test_an_agent_that_joined_for_one_match_is_not_queued_again(parts: Parts) -> None:
    await seat(parts)
    await parts.lobby.book(ROW, results(winner=CY), 0)
    assert await parts.lobby.count_waiting() == 0


async def test_an_agent_is_queued_again_after_each_match(parts: Parts) -> None:
    await seat(parts, continuous=True)
    await parts.lobby.book(ROW, results(winner=CY), 0)
    tickets = [each.ticket for each in await parts.lobby.waiting()]
    assert await parts.lobby.form(M2, party(), tickets)
    await parts.lobby.book(listed(M2), results(winner=CY), 0)
    assert [each.agent_id for each in await parts.lobby.waiting()] == list(AGENTS)
    assert await parts.balances() == [980, 980, 1060, 980]


async def test_agents_that_are_broke_are_told_and_not_queued_again(parts: Parts) -> None:
    ear = Ear(parts.keys.lobby_feed)
    await parts.listen()
    await parts.feed.subscribe(ear.subscription)
    await seat(parts, continuous=True, fee=600)
    await parts.lobby.book(ROW, results(winner=CY, payout=2400), 0)
    assert [each.agent_id for each in await parts.lobby.waiting()] == [CY]
    notices = [read_notice(message) for message in await ear.hear(2)]
    assert notices == [Closed(ROW), Broke((ANA, BO, DEE))]
    await parts.lobby.grant(ANA, 10_000)
    assert await parts.lobby.join(ANA, request()) == InQueue(2, 2)


async def test_a_free_match_pays_nothing_and_is_not_ranked(parts: Parts) -> None:
    await seat(parts, fee=0)
    await parts.lobby.book(listed(M1, entry_fee_hp=0), results(winner=CY, payout=0), 0)
    assert await parts.balances() == [1000] * 4
    assert await parts.lobby.leaderboard(0, 10) == []
    assert await parts.lobby.seats(AGENTS) == [None] * 4


# ---- Lists


async def test_the_leaderboard_counts_ranked_matches(parts: Parts) -> None:
    await seat(parts)
    await parts.lobby.book(ROW, results(winner=CY), 0)
    await parts.lobby.grant(BO, -90)
    assert await parts.lobby.leaderboard(0, 10) == [
        ListedAgent(agent_id=CY, name="Cy", hp=1030, matches=1, wins=1),
        ListedAgent(agent_id=DEE, name="Dee", hp=990, matches=1, wins=0),
        ListedAgent(agent_id=ANA, name="Ana", hp=990, matches=1, wins=0),
        ListedAgent(agent_id=BO, name="Bo", hp=900, matches=1, wins=0),
    ]


async def test_the_leaderboard_comes_in_pages(parts: Parts) -> None:
    await seat(parts)
    await parts.lobby.book(ROW, results(winner=CY), 0)
    pages = [await parts.lobby.leaderboard(offset, 3) for offset in (0, 3, 6)]
    assert [[each.agent_id for each in page] for page in pages] == [[CY, DEE, BO], [ANA], []]


@pytest.mark.parametrize("agents", [[], [ANA]])
async def test_an_agent_without_a_seat_sits_nowhere(parts: Parts, agents: list[AgentId]) -> None:
    assert await parts.lobby.seats(agents) == [None] * len(agents)
    assert await parts.lobby.rows([]) == []
