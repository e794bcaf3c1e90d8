"""Play matches with a function from a table to a face."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import msgspec

from protocol.codec import Format
from protocol.messages import (
    AgentId,
    ErrorCode,
    LegalAction,
    MatchFinished,
    MatchSummary,
    TableState,
)

from .agent import Client
from .errors import Refused

Choice = int | tuple[int, str]  # a face, or a face and a line of table talk

_HAS_JOINED = {ErrorCode.ALREADY_QUEUED, ErrorCode.ALREADY_SEATED}

# The match went on without the bot, as it does for whoever thinks too long.
_TOO_LATE = {ErrorCode.STALE_TURN, ErrorCode.NOT_YOUR_TURN, ErrorCode.DEADLINE_PASSED}


class Tally(msgspec.Struct, frozen=True):
    """What a bot has got out of its matches so far; `hp` is its balance after the last."""

    matches: int = 0
    wins: int = 0
    hp: int | None = None

    def add(self, summary: MatchSummary, agent_id: AgentId | None) -> "Tally":
        """Count one more match of an agent's."""
        mine = next(moved for moved in summary.hp_movement if moved.agent_id == agent_id)
        return Tally(
            matches=self.matches + 1,
            wins=self.wins + (mine.seat == summary.winner_seat),
            hp=mine.balance,
        )


def run_bot(
    url: str | Sequence[str],
    token: str,
    choose: Callable[[TableState, tuple[LegalAction, ...]], Choice],
    *,
    matches: int | None = None,
    fee_min: int | None = None,
    fee_max: int | None = None,
    client_seed: str = "",
    format: Format = "msgpack",
) -> Tally:
    """Play one match after the other, until `matches` are over or Ctrl-C is pressed.

    `choose` gets the table as the bot's turn starts, and what it may do; it returns a face, or a
    face and a line of table talk. It runs in a thread of its own and may take its time.
    Raises what `choose` raises, Refused if the bot can't join or chose what it may not, and
    HandshakeFailed or Closed if the hub will not have it.
    """
    tally = Tally()

    async def think(table: TableState) -> Choice:
        return await asyncio.to_thread(choose, table, table.legal_actions)

    async def play() -> None:
        nonlocal tally
        async with Client(url, token, format=format) as client:
            while matches is None or tally.matches < matches:
                summary = await play_match(
                    client, think, fee_min=fee_min, fee_max=fee_max, client_seed=client_seed
                )
                tally = tally.add(summary, client.welcome.agent_id)

    with suppress(KeyboardInterrupt):
        asyncio.run(play())
    return tally


async def play_match(
    client: Client,
    choose: Callable[[TableState], Awaitable[Choice]],
    *,
    fee_min: int | None = None,
    fee_max: int | None = None,
    client_seed: str = "",
) -> MatchSummary:
    """Join, unless that is done already, and play the match to its end.

    Raises what `choose` and Client.join, place and iteration raise.
    """
    try:
        await client.join(fee_min=fee_min, fee_max=fee_max, client_seed=client_seed)
    except Refused as refused:
        if refused.code not in _HAS_JOINED:
            raise
    while True:
        message = await anext(client)
        if client.my_turn:
            await _place(client, await choose(client.table))
        if isinstance(message, MatchFinished):
            return message.summary


async def _place(client: Client, choice: Choice) -> None:
    face, talk = choice if isinstance(choice, tuple) else (choice, "")
    try:
        await client.place(face, message=talk)
    except Refused as refused:
        if refused.code not in _TOO_LATE:
            raise
