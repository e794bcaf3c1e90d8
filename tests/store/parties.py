"""Agents that queue, sit down and are paid, by the lobby alone."""

from collections.abc import Sequence

from hub.store.lobby import (
    InQueue,
    JoinRequest,
    Member,
    Party,
    Result,
)
from protocol.messages import AgentId, ListedPlayer, MatchId
from tests.store.parts import AGENTS, Parts, listed

ANA, BO, CY, DEE = AGENTS
M1, M2 = MatchId("m1"), MatchId("m2")
ROW = listed(
    M1,
    players=tuple(
        ListedPlayer(seat=seat, agent_id=agent_id, name=agent_id, money=0)
        for seat, agent_id in enumerate(AGENTS)
    ),
)


def request(fee_min: int = 10, fee_max: int = 10, *, continuous: bool = False) -> JoinRequest:
    return JoinRequest("Name", "seed", fee_min, fee_max, continuous)


def party(agents: Sequence[AgentId] = AGENTS, fee: int = 10) -> Party:
    return Party(fee, tuple(Member(agent_id, "Name", "seed") for agent_id in agents))


def results(winner: AgentId | None = None, payout: int = 40) -> list[Result]:
    return [Result(each, payout if each == winner else 0, each == winner) for each in AGENTS]


async def queue(
    parts: Parts, agents: Sequence[AgentId] = AGENTS, ask: JoinRequest | None = None
) -> list[bytes]:
    """Let agents in and queue them; their tickets."""
    for agent_id in agents:
        await parts.lobby.enter(agent_id, agent_id.title(), parts.id)
        answer = await parts.lobby.join(agent_id, ask or request())
        assert isinstance(answer, InQueue)
    tickets = {each.agent_id: each.ticket for each in await parts.lobby.waiting()}
    return [tickets[agent_id] for agent_id in agents]


async def seat(parts: Parts, *, continuous: bool = False, fee: int = 10) -> None:
    """Form a table of AGENTS, M1."""
    tickets = await queue(parts, AGENTS, request(fee, fee, continuous=continuous))
    assert await parts.lobby.form(M1, party(fee=fee), tickets)
