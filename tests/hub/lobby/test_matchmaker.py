import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.lobby.matchmaker import Pick, pick
from hub.rules.match import SEATS
from hub.rules.table import list_row
from hub.store.lobby import JoinRequest, Member, Party, Seated, Waiting, read_notice
from protocol.messages import AgentId, MatchId, MatchStarted
from tests.store.conftest import MakeParts
from tests.store.parts import AGENTS, SEED, Ear, Parts, new_match, unhurried, until
from tests.store.valkey import OwnValkey

M1 = MatchId("m1")
NEWCOMERS_HP = 1000


def agent(name: str, fee_min: int = 10, fee_max: int = 10, hp: int = NEWCOMERS_HP) -> Waiting:
    request = JoinRequest(name, "", fee_min, fee_max, continuous=False)
    return Waiting(AgentId(name), name.encode(), request, hp)


def overlap(agents: Sequence[Waiting]) -> range:
    """List the fees that every one of some agents accepts and can pay."""
    lowest = max(each.request.fee_min for each in agents)
    highest = min(min(each.request.fee_max, each.hp) for each in agents)
    return range(lowest, highest + 1)


# ---- Picking a party

fees = st.integers(0, 12)
queues = st.lists(
    st.builds(
        lambda ends, hp: (*sorted(ends), hp), st.tuples(fees, fees), st.sampled_from([0, 3, 8, 99])
    ),
    max_size=12,
).map(lambda rows: [agent(f"a{place}", *each) for place, each in enumerate(rows)])


@given(queues)
@unhurried
def test_a_party_pays_a_fee_that_each_accepts_and_can_pay(waiting: list[Waiting]) -> None:
    chosen = pick(waiting)
    if chosen is not None:
        assert chosen.entry_fee_hp in overlap(chosen.agents)


@given(queues)
@unhurried
def test_a_party_is_four_agents_in_order_of_arrival(waiting: list[Waiting]) -> None:
    chosen = pick(waiting)
    if chosen is not None:
        places = [waiting.index(each) for each in chosen.agents]
        assert len(places) == SEATS
        assert places == sorted(set(places))


@given(queues)
@unhurried
def test_four_neighbours_that_suit_each_other_do_not_wait_in_vain(waiting: list[Waiting]) -> None:
    windows = [waiting[first : first + SEATS] for first in range(len(waiting) - SEATS + 1)]
    suiting = [first for first, four in enumerate(windows) if overlap(four)]
    if suiting:
        chosen = pick(waiting)
        assert chosen is not None
        assert waiting.index(chosen.agents[0]) <= suiting[0]


@given(queues)
@unhurried
def test_whoever_stands_before_a_party_could_not_have_led_one(waiting: list[Waiting]) -> None:
    chosen = pick(waiting)
    first = len(waiting) if chosen is None else waiting.index(chosen.agents[0])
    for place, leader in enumerate(waiting[:first]):
        party = [leader]
        for each in waiting[place + 1 :]:
            party += [each] if overlap([*party, each]) else []
        assert len(party) < SEATS or not overlap([leader])


@given(queues)
@unhurried
def test_the_fee_is_the_midpoint_of_what_all_accept_if_all_can_pay_it(
    waiting: list[Waiting],
) -> None:
    chosen = pick(waiting)
    if chosen is not None:
        lowest = max(each.request.fee_min for each in chosen.agents)
        highest = min(each.request.fee_max for each in chosen.agents)
        midpoint = (lowest + highest) // 2
        if all(each.hp >= midpoint for each in chosen.agents):
            assert chosen.entry_fee_hp == midpoint
        else:
            assert chosen.entry_fee_hp < midpoint


def test_three_agents_are_no_party() -> None:
    assert pick([agent("a"), agent("b"), agent("c")]) is None


def test_the_first_four_of_equals_are_seated() -> None:
    waiting = [agent(name) for name in "abcdef"]
    assert pick(waiting) == Pick(tuple(waiting[:4]), 10)


def test_an_agent_that_suits_nobody_is_passed_over() -> None:
    a, b, c, d, e = (agent(name) for name in "abcde")
    lonely = agent("z", 500, 600)
    assert pick([a, lonely, b, c, d, e]) == Pick((a, b, c, d), 10)
    assert pick([lonely, a, b, c, d, e]) == Pick((a, b, c, d), 10)


def test_the_midpoint_is_rounded_down() -> None:
    waiting = [agent("a", 0, 100), agent("b", 10, 25), agent("c", 0, 50), agent("d", 5, 30)]
    assert pick(waiting) == Pick(tuple(waiting), 17)


def test_a_poor_agent_lowers_the_fee_to_the_midpoint_of_what_all_can_pay() -> None:
    waiting = [agent("a", 0, 100), agent("b", 10, 100, hp=20), *(agent(x, 0, 100) for x in "cd")]
    assert pick(waiting) == Pick(tuple(waiting), 15)


def test_an_agent_that_can_not_pay_its_own_lowest_fee_is_not_seated() -> None:
    waiting = [agent("a", hp=9), *(agent(name) for name in "bcde")]
    assert pick(waiting) == Pick(tuple(waiting[1:]), 10)


def test_who_wants_a_free_match_only_sits_with_those_who_do() -> None:
    free, paid = [agent(name, 0, 0) for name in "abcd"], [agent(name) for name in "efg"]
    assert pick([*paid, *free]) == Pick(tuple(free), 0)


# ---- Forming tables


async def form(parts: Parts, match_id: MatchId = M1) -> None:
    """Take AGENTS from the queue, as a hub does that dies right after."""
    members = tuple(Member(each, each.title(), f"salt of {each}") for each in AGENTS)
    tickets = [each.ticket for each in await parts.lobby.waiting()]
    assert await parts.lobby.form(match_id, Party(10, members), tickets)


async def queue(parts: Parts, agents: Sequence[str] = AGENTS) -> None:
    for name in agents:
        await parts.join(AgentId(name))


async def seated_notices(parts: Parts) -> Ear:
    ear = Ear(parts.keys.lobby_feed)
    await parts.listen()
    await parts.feed.subscribe(ear.subscription)
    return ear


async def hear_all(parts: Parts, ear: Ear) -> list[object]:
    """Read every notice up to now."""
    await parts.link.call("PUBLISH", parts.keys.lobby_feed, "end")
    while b"end" not in ear.messages:
        await ear.grown()
    return [read_notice(message) for message in ear.messages[:-1]]


async def test_a_party_gets_a_match_with_what_its_agents_asked_for(parts: Parts) -> None:
    await queue(parts)
    await parts.matchmaker.sweep()
    (match_id,) = await parts.lobby.live()
    assert await parts.lobby.seats(AGENTS) == [match_id] * 4
    started = (await parts.events(match_id))[0]
    assert isinstance(started, MatchStarted)
    seats = {(each.agent_id, each.name, each.client_seed) for each in started.players}
    assert seats == {(each, each.title(), f"salt of {each}") for each in AGENTS}
    assert (started.entry_fee_hp, started.pot_hp) == (10, 40)


async def test_a_match_knows_what_its_agents_have_left(parts: Parts) -> None:
    match = await parts.match(await parts.seat())
    assert [player.balance_hp for player in match.players] == [990] * 4
    assert await parts.lobby.total_hp() == 4 * NEWCOMERS_HP


async def test_everyone_hears_of_a_match_once_it_is_there(parts: Parts) -> None:
    ear = await seated_notices(parts)
    match = await parts.match(await parts.seat())
    agents = tuple(player.agent_id for player in match.players)
    assert await hear_all(parts, ear) == [Seated(list_row(match), agents)]


async def test_every_table_that_can_be_formed_is(parts: Parts) -> None:
    names = [f"a{number:02}" for number in range(14)]
    await queue(parts, names)
    await parts.matchmaker.sweep()
    seats = await parts.lobby.seats(names)
    assert [len({*seats[first : first + 4]}) for first in (0, 4, 8)] == [1, 1, 1]
    assert seats[12:] == [None, None]
    assert len(await parts.lobby.live()) == 3


async def test_a_table_that_a_dead_hub_has_formed_gets_its_match(make_parts: MakeParts) -> None:
    dead, alive = make_parts(), make_parts()
    await queue(dead)
    await form(dead)
    ear = await seated_notices(alive)
    await alive.matchmaker.sweep()
    await alive.matchmaker.sweep()
    match = await alive.match(M1)
    assert {player.agent_id for player in match.players} == set(AGENTS)
    assert [player.balance_hp for player in match.players] == [990] * 4
    assert len(await hear_all(alive, ear)) == 1
    assert await alive.lobby.seats(AGENTS) == [M1] * 4
    assert await alive.lobby.live() == [M1]
    assert await alive.lobby.total_hp() == 4 * NEWCOMERS_HP


async def test_a_table_whose_hub_died_after_creating_its_match_keeps_that_match(
    make_parts: MakeParts,
) -> None:
    dead, alive = make_parts(), make_parts()
    await queue(dead)
    await form(dead)
    await dead.tables.commit(*new_match(M1), server_seed=SEED)
    created = await dead.match(M1)
    ear = await seated_notices(alive)
    await alive.matchmaker.sweep()
    assert await alive.match(M1) == created
    agents = tuple(player.agent_id for player in created.players)
    assert await hear_all(alive, ear) == [Seated(list_row(created), agents)]
    assert await alive.lobby.forming() == {}
    assert await alive.lobby.live() == [M1]
    assert await alive.lobby.total_hp() == 4 * NEWCOMERS_HP


async def test_hubs_that_look_at_once_form_each_table_once(make_parts: MakeParts) -> None:
    hubs = [make_parts() for _ in range(3)]
    names = [f"a{number:02}" for number in range(16)]
    await queue(hubs[0], names)
    ear = await seated_notices(hubs[0])
    await asyncio.gather(*(hub.matchmaker.sweep() for hub in hubs))
    notices = await hear_all(hubs[0], ear)
    seated = [name for each in notices if isinstance(each, Seated) for name in each.agent_ids]
    assert sorted(seated) == names
    assert len(await hubs[0].lobby.live()) == 4
    assert await hubs[0].lobby.total_hp() == 16 * NEWCOMERS_HP


async def test_hubs_that_finish_a_table_at_once_make_one_match(make_parts: MakeParts) -> None:
    hubs = [make_parts() for _ in range(3)]
    await queue(hubs[0])
    await form(hubs[0])
    ear = await seated_notices(hubs[0])
    await asyncio.gather(*(hub.matchmaker.sweep() for hub in hubs))
    assert len(await hear_all(hubs[0], ear)) == 1
    assert [event.seq for event in await hubs[0].events(M1)] == [1, 2, 3]
    assert await hubs[0].lobby.total_hp() == 4 * NEWCOMERS_HP


async def test_an_absent_agent_is_not_seated_and_keeps_its_place(parts: Parts) -> None:
    await queue(parts, ["ana", "bo", "cy", "dee", "eve"])
    await parts.lobby.vouch("bo", parts.id, connected=False)
    await parts.matchmaker.sweep()
    assert await parts.lobby.seats(["bo"]) == [None]
    await queue(parts, ["flo", "gus", "hal"])
    await parts.lobby.enter(AgentId("bo"), "Bo", parts.id)
    assert [each.agent_id for each in await parts.lobby.waiting()] == ["bo", "flo", "gus", "hal"]


async def test_four_absent_agents_form_no_table(parts: Parts) -> None:
    await queue(parts)
    for agent_id in AGENTS:
        await parts.lobby.vouch(agent_id, parts.id, connected=False)
    await parts.matchmaker.sweep()
    assert await parts.lobby.count_waiting() == 4
    assert await parts.lobby.total_hp() == 4 * NEWCOMERS_HP


@pytest.mark.parametrize("hubs", [1, 2])
async def test_a_table_is_formed_as_its_last_agent_joins(make_parts: MakeParts, hubs: int) -> None:
    running = [make_parts() for _ in range(hubs)]
    ear = await seated_notices(running[0])
    for hub in running:
        hub.run(hub.matchmaker.run())
    for place, agent_id in enumerate(AGENTS):
        await running[place % hubs].join(agent_id)
    await ear.hear(1)
    assert len(set(await running[0].lobby.seats(AGENTS))) == 1


async def test_tables_are_formed_again_after_the_store_was_away(
    valkey: OwnValkey, make_parts: MakeParts
) -> None:
    parts = make_parts(url=valkey.url)
    await queue(parts, AGENTS[:3])
    parts.run(parts.matchmaker.run())
    valkey.kill()
    parts.matchmaker.wake()
    await until(lambda: not parts.link.up)
    valkey.start()
    await parts.join(AGENTS[3])
    async with asyncio.timeout(10):
        while await parts.lobby.seats(AGENTS[:1]) == [None]:
            pass
