import asyncio
import secrets
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

from hub.store.keys import Keys
from hub.store.lobby import JoinRequest, Member, Party
from protocol.messages import (
    AgentId,
    MatchFinished,
    MatchId,
)
from tests.store.conftest import MakeParts
from tests.store.parts import (
    AGENTS,
    Parts,
    turn_of,
    until,
)
from tests.store.valkey import OwnValkey

NEWCOMERS_HP = 1000


async def unbooked(parts: Parts) -> list[MatchId]:
    return [each for slot in parts.tables.slots for each in await parts.tables.unbooked(slot)]


async def finished(parts: Parts, match_id: str) -> MatchFinished:
    last = (await parts.events(match_id))[-1]
    assert isinstance(last, MatchFinished)
    return last


async def test_the_winner_gets_the_pot(parts: Parts) -> None:
    match_id = await parts.seat()
    await parts.play_out(match_id)
    await parts.clock.tick()
    winner = (await parts.match(match_id)).winner_seat
    moves = (await finished(parts, match_id)).summary.hp_movement
    assert [each.movement for each in moves] == [30 if s == winner else -10 for s in range(4)]
    by_agent = {each.agent_id: each.balance for each in moves}
    assert await parts.balances() == [by_agent[agent_id] for agent_id in AGENTS]
    assert sorted(by_agent.values()) == [990, 990, 990, 1030]


async def test_the_platform_s_fee_is_taken_from_the_pot(make_parts: MakeParts) -> None:
    parts = make_parts(fee_bps=2_500)
    match_id = await parts.seat(fee=11)
    await parts.play_out(match_id)
    await parts.clock.tick()
    assert sorted(await parts.balances()) == [989, 989, 989, 989 + 33]
    assert await parts.lobby.total_hp() == 4 * NEWCOMERS_HP


async def test_stakes_go_back_if_nobody_acted(make_parts: MakeParts) -> None:
    parts = make_parts(turn_ms=1, fee_bps=2_500)
    match_id = await parts.seat()
    await parts.tick_until_over(match_id)
    assert (await finished(parts, match_id)).finish_reason == "no_actions"
    assert await parts.balances() == [NEWCOMERS_HP] * 4
    assert await parts.lobby.total_hp() == 4 * NEWCOMERS_HP
    assert parts.count("matches_finished", reason="no_actions") == 1


async def test_a_result_is_booked_once_however_many_hubs_try(make_parts: MakeParts) -> None:
    hubs = [make_parts() for _ in range(4)]
    match_id = await hubs[0].seat()
    await hubs[0].play_out(match_id)
    await asyncio.gather(
        *(hub.clock.tick() for hub in hubs), *(hub.clock.book(match_id) for hub in hubs)
    )
    assert sorted(await hubs[0].balances()) == [990, 990, 990, 1030]
    assert sum(hub.count("matches_finished", reason="completed") for hub in hubs) == 1
    assert await unbooked(hubs[0]) == []


async def test_a_result_that_a_dead_hub_left_is_booked_by_another(make_parts: MakeParts) -> None:
    dead, alive = make_parts(), make_parts()
    match_id = await dead.seat()
    await dead.play_out(match_id)
    assert await unbooked(alive) == [match_id]
    await alive.clock.tick()
    assert sorted(await alive.balances()) == [990, 990, 990, 1030]
    assert await unbooked(alive) == []
    assert await alive.lobby.live() == []
    assert await alive.lobby.seats(AGENTS) == [None] * 4


async def test_booking_again_does_no_harm(make_parts: MakeParts) -> None:
    """A hub died after booking and before it said so; meanwhile the agents play again."""
    dead, alive = make_parts(), make_parts()
    first = await dead.seat(continuous=True)
    await dead.play_out(first)
    await dead.clock.tick()
    await dead.matchmaker.sweep()
    seats, balances = await dead.lobby.seats(AGENTS), await dead.balances()
    await dead.link.call("SADD", dead.keys.outbox(dead.tables.slot(first)), first)
    await alive.clock.tick()
    assert await alive.lobby.seats(AGENTS) == seats
    assert None not in seats
    assert await alive.balances() == balances
    assert await unbooked(alive) == []


@pytest.mark.parametrize("turns", [0, 3])
async def test_a_match_under_way_can_not_be_booked(parts: Parts, turns: int) -> None:
    match_id = await parts.seat()
    for _ in range(turns):
        await parts.referee.place(*turn_of(await parts.match(match_id)))
    await parts.clock.book(match_id)
    await parts.clock.book("none")
    assert await parts.balances() == [990] * 4
    assert await parts.lobby.live() == [match_id]


async def test_agents_that_want_to_are_seated_again(parts: Parts) -> None:
    first = await parts.seat(continuous=True)
    await parts.play_out(first)
    await parts.clock.tick()
    await parts.matchmaker.sweep()
    (second,) = await parts.lobby.live()
    assert second != first
    assert await parts.lobby.seats(AGENTS) == [second] * 4
    assert await parts.lobby.total_hp() == 4 * NEWCOMERS_HP


async def test_a_result_is_booked_after_the_store_was_away(
    valkey: OwnValkey, make_parts: MakeParts
) -> None:
    parts = make_parts(url=valkey.url)
    await parts.play_out(await parts.seat())
    valkey.kill()
    parts.run(parts.clock.run())
    await until(lambda: not parts.link.up)
    valkey.start()
    await until(lambda: parts.link.up)
    while await parts.lobby.live():
        pass
    assert sorted(await parts.balances()) == [990, 990, 990, 1030]


# ---- HP

NAMES = [AgentId(f"agent{number}") for number in range(6)]
agents = st.sampled_from(NAMES)


class Casino(RuleBasedStateMachine):
    """Agents, operators and two hubs that die at any point do what they may in any order."""

    url: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.Runner()
        keys = Keys(f"casino{secrets.token_hex(6)}:", 2)
        self.hubs = [Parts(self.url, keys, fee_bps=777, lease_ms=1) for _ in range(2)]
        self.lobby = self.hubs[0].lobby
        self.known: set[AgentId] = set()
        self.granted = 0
        self.played: list[MatchId] = []
        self.everyone_joins_again_and_again()

    def run(self, work: Any) -> Any:
        return self.loop.run(work)

    @rule(agent_id=agents)
    def vanish(self, agent_id: AgentId) -> None:
        self.run(self.lobby.vouch(agent_id, "hub", connected=False))

    @rule(agent_id=agents, low=st.integers(0, 900), more=st.integers(0, 900), again=st.booleans())
    def join(self, agent_id: AgentId, low: int, more: int, again: bool) -> None:
        self.known.add(agent_id)
        self.run(self.lobby.enter(agent_id, agent_id, "hub"))
        self.run(self.lobby.join(agent_id, JoinRequest(agent_id, "", low, low + more, again)))

    @rule()
    def everyone_joins_again_and_again(self) -> None:
        for agent_id in NAMES:
            self.join(agent_id, 0, 200, True)

    @rule(agent_id=agents)
    def leave(self, agent_id: AgentId) -> None:
        self.run(self.lobby.leave(agent_id))

    @rule(agent_id=agents, hp=st.integers(-300, 1500))
    def grant(self, agent_id: AgentId, hp: int) -> None:
        before, after = self.run(self.lobby.grant(agent_id, hp))
        self.known.add(agent_id)
        self.granted += after - before
        assert after == max(0, before + hp)

    @rule()
    def sweep(self) -> None:
        async def both() -> None:
            await asyncio.gather(*(hub.matchmaker.sweep() for hub in self.hubs))

        self.run(both())

    @rule(fee=st.integers(0, 600))
    def form_and_die(self, fee: int) -> None:
        waiting = self.run(self.lobby.waiting())[:4]
        if len(waiting) == 4:
            members = tuple(Member(each.agent_id, each.agent_id, "") for each in waiting)
            match_id = MatchId(secrets.token_hex(8))
            tickets = [each.ticket for each in waiting]
            self.run(self.lobby.form(match_id, Party(fee, members), tickets))

    @rule(hub=st.integers(0, 1))
    def play_a_match(self, hub: int) -> None:
        self.sweep()
        live = self.run(self.lobby.live())
        if live:
            self.run(self.hubs[hub].play_out(live[0]))
            self.played.append(live[0])

    @rule(hub=st.integers(0, 1))
    def book(self, hub: int) -> None:
        self.run(self.hubs[hub].clock.tick())

    @rule()
    def book_again(self) -> None:
        for match_id in self.played:
            self.run(self.hubs[1].clock.book(match_id))

    @invariant()
    def no_hp_appears_or_disappears(self) -> None:
        total = self.run(self.lobby.total_hp())
        assert total == NEWCOMERS_HP * len(self.known) + self.granted

    def teardown(self) -> None:
        """Let everything come to its end: nothing is staked any more."""
        for agent_id in NAMES:
            self.leave(agent_id)
        self.sweep()
        while self.run(self.lobby.live()):
            self.play_a_match(0)
            self.book(0)
        fees = self.run(self.hubs[0].platform_fees())
        balances = self.run(self.hubs[0].balances(sorted(self.known)))
        assert sum(balances) + fees == NEWCOMERS_HP * len(self.known) + self.granted
        assert all(hp >= 0 for hp in balances)
        for hub in self.hubs:
            self.run(hub.close())
        self.loop.close()


def test_hp_is_neither_made_nor_lost_whatever_happens(redis_url: str) -> None:
    run_state_machine_as_test(
        type("CasinoHere", (Casino,), {"url": redis_url}),
        settings=settings(max_examples=20, stateful_step_count=25, deadline=None),
    )
