"""Play for the house: ordinary clients of the protocol, many in one process."""

import asyncio
import random
from collections.abc import Callable, Sequence

from protocol.client import Choice, Client, Tally, play_match
from protocol.messages import AgentId, MatchSummary, TableState

from .policies import Policy
from .talk import remark

Report = Callable[[MatchSummary, AgentId | None, Tally], None]


async def play(
    url: str | Sequence[str],
    token: str,
    policy: Policy,
    *,
    chance: random.Random,
    matches: int | None = None,
    fee_limit: int | None = None,
    pause: Callable[[], float] = lambda: 0.0,
    report: Report = lambda _summary, _agent_id, _tally: None,
) -> Tally:
    """Play one match after the other, until `matches` are over.

    The bot accepts any fee that it can pay, up to `fee_limit` HP. `chance` is what its table talk
    is drawn from, `pause` says for how many seconds it looks at its dice. `report` hears of each
    finished match: its summary, the bot's id and its tally.
    Raises ClientError: see protocol/errors.py.
    """

    async def choose(table: TableState) -> Choice:
        await asyncio.sleep(pause())
        face = policy(table)
        return face, remark(table, face, chance)

    async with Client(url, token) as client:
        agent_id = client.welcome.agent_id
        tally = Tally(hp=client.welcome.hp)
        while matches is None or tally.matches < matches:
            fee_max = _least(tally.hp, fee_limit)
            summary = await play_match(client, choose, fee_min=0, fee_max=fee_max)
            tally = tally.add(summary, agent_id)
            report(summary, agent_id, tally)
    return tally


def _least(*limits: int | None) -> int:
    return min((limit for limit in limits if limit is not None), default=0)
