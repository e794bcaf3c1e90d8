"""Play for the house: ordinary clients of the protocol, many in one process."""

import random
from collections.abc import Callable, Sequence

from protocol.client import Choice, Client, Tally, play_match
from protocol.messages import MatchSummary, TableState

from .policies import Policy
from .talk import remark

Report = Callable[[MatchSummary, Tally], None]


async def play(
    url: str | Sequence[str],
    token: str,
    policy: Policy,
    *,
    chance: random.Random,
    matches: int | None = None,
    report: Report = lambda _summary, _tally: None,
) -> Tally:
    """Play one match after the other, at any fee that the bot can pay, until `matches` are over.

    `report` hears of each finished match. `chance` is what table talk is drawn from.
    Raises ClientError: see protocol/errors.py.
    """

    async def choose(table: TableState) -> Choice:
        face = policy(table)
        return face, remark(table, face, chance)

    async with Client(url, token) as client:
        tally = Tally(hp=client.welcome.hp)
        while matches is None or tally.matches < matches:
            summary = await play_match(client, choose, fee_min=0, fee_max=tally.hp)
            tally = tally.add(summary, client.welcome.agent_id)
            report(summary, tally)
    return tally
