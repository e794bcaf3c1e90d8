"""Play with the client library, and keep account of every move and its outcome."""

import asyncio
import random
from collections.abc import Sequence

import msgspec

from protocol.client import Client, ClientError, Refused
from protocol.codec import Format
from protocol.messages import Ack, AgentId, MatchId

from .plan import Plan, now_ms
from .troubles import Troubles
from .view import View

LONGEST_THINK_S = 0.5  # well below the turn of a seat that was away


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A move as its bot knows it: `nonce` marks it in the log; `seq` if it was acknowledged."""

    agent_id: AgentId
    match_id: MatchId
    turn: int
    face: int
    nonce: str
    sent: int
    answered: int
    seq: int | None = None
    replayed: bool = False
    refused: str = ""


class Live:
    """The matches that bots have seen start and not end, and how far they got."""

    def __init__(self) -> None:
        self.seqs: dict[str, int] = {}
        self.finished: set[str] = set()

    def note(self, match_id: str, seq: int, *, finished: bool) -> None:
        """Note an event."""
        if finished:
            self.finished.add(match_id)
            self.seqs.pop(match_id, None)
        elif match_id not in self.finished:
            self.seqs[match_id] = max(seq, self.seqs.get(match_id, 0))


class Bot:
    """One agent; a silent one joins and then never places."""

    def __init__(
        self,
        agent_id: str,
        token: str,
        urls: Sequence[str],
        *,
        plan: Plan,
        format: Format,
        silent: bool,
        chance: random.Random,
        live: Live,
        troubles: Troubles,
    ) -> None:
        self.agent_id = AgentId(agent_id)
        self.silent = silent
        self.format: Format = format
        self.moves: list[Move] = []
        self.view = View(agent_id, troubles)
        self._plan = plan
        self._chance = chance
        self._live = live
        self._troubles = troubles
        self._client = Client(urls, token, format=format)

    async def run(self) -> None:
        """Play until cancelled."""
        try:
            async with self._client as client:
                await client.join(continuous=True, client_seed=self.agent_id)
                await self._follow(client)
        except ClientError as error:
            self._troubles.report("client gave up", self.agent_id, detail=repr(error))

    async def leave(self) -> None:
        """Join no more matches after the one under way."""
        await self._client.leave()

    async def _follow(self, client: Client) -> None:
        async for message in client:
            self.view.see(message)
            match_id = message.match_id
            finished = match_id in self.view.finished
            self._live.note(match_id, self.view.position(match_id), finished=finished)
            if client.my_turn and not self.silent:
                await self._place(client, match_id)

    async def _place(self, client: Client, match_id: MatchId) -> None:
        if self._plan.think_ms:
            think_s = self._chance.expovariate(1000 / self._plan.think_ms)
            await asyncio.sleep(min(think_s, LONGEST_THINK_S))
        face = self._chance.choice(client.table.roll)
        nonce = f"{self.agent_id}-{len(self.moves)}"
        sent = now_ms()
        turn = client.table.turn
        outcome = await _outcome(client, face, nonce)
        self.moves.append(
            Move(
                agent_id=self.agent_id,
                match_id=match_id,
                turn=turn,
                face=face,
                nonce=nonce,
                sent=sent,
                answered=now_ms(),
                seq=outcome.seq if isinstance(outcome, Ack) else None,
                replayed=isinstance(outcome, Ack) and outcome.replayed,
                refused="" if isinstance(outcome, Ack) else str(outcome.code),
            )
        )


async def _outcome(client: Client, face: int, nonce: str) -> Ack | Refused:
    try:
        return await client.place(face, nonce=nonce)
    except Refused as refused:
        return refused
