"""Turn the queue into tables: pick a party, stake its fees, create its match.

Any hub may do any of these steps at any time; the store lets each happen once. A table whose hub
died half-way is finished by whichever hub looks next.
"""

import asyncio
import random
import secrets
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import msgspec
import structlog

from hub.rules import match as rules
from hub.rules.match import SEATS, SEED_BYTES, Contender
from hub.rules.table import list_row
from hub.settings import Settings
from hub.store.link import store_permitting
from hub.store.lobby import Formed, InQueue, JoinRequest, Lobby, Member, NotQueued, Party, Waiting
from hub.store.stamps import AT_COMMIT
from hub.store.tables import Tables
from protocol.messages import INTEGER_LIMIT, AgentId, MatchId

SWEEP_SECONDS = 1.0  # between looks at the queue when nobody joins here

_log = structlog.get_logger()


class Pick(msgspec.Struct, frozen=True):
    """Agents that may sit together, in order of arrival, and the fee they pay in HP."""

    agents: tuple[Waiting, ...]
    entry_fee_hp: int


def pick(waiting: Sequence[Waiting]) -> Pick | None:
    """Choose the next party: the longest-waiting agent that can be seated, and three to suit it.

    The fee is the midpoint of the overlap of all four ranges, rounded down (RULES.md, Score). If
    one of them can't pay that, the overlap is first cut down to what each of them can pay.
    """
    for first in range(len(waiting) - SEATS + 1):
        agents = _gather(waiting[first:])
        if len(agents) == SEATS:
            return Pick(agents, _fee(agents))
    return None


def _gather(waiting: Sequence[Waiting]) -> tuple[Waiting, ...]:
    """Take agents that suit the ones before them, up to a table's number."""
    agents: list[Waiting] = []
    low, high = 0, INTEGER_LIMIT
    for agent in waiting:
        narrowed = max(low, agent.request.fee_min), min(high, agent.request.fee_max, agent.hp)
        if narrowed[0] <= narrowed[1]:
            low, high = narrowed
            agents.append(agent)
            if len(agents) == SEATS:
                break
    return tuple(agents)


def _fee(agents: Sequence[Waiting]) -> int:
    low = max(agent.request.fee_min for agent in agents)
    high = min(agent.request.fee_max for agent in agents)
    purse = min(agent.hp for agent in agents)
    midpoint = (low + high) // 2
    return midpoint if midpoint <= purse else (low + purse) // 2


async def _book_nothing(_match_id: str) -> None:
    pass


class Matchmaker:
    """Forms the tables of one store.

    `book` frees the seats of a match if it has finished (see Clock.book).
    """

    def __init__(self, lobby: Lobby, tables: Tables, settings: Settings) -> None:
        self.book: Callable[[str], Awaitable[None]] = _book_nothing
        self._lobby = lobby
        self._tables = tables
        self._settings = settings
        self._joined = asyncio.Event()

    async def join(self, agent_id: AgentId, request: JoinRequest) -> InQueue | NotQueued:
        """Queue an agent. If its last match has only just finished, that is booked first."""
        answer = await self._lobby.join(agent_id, request)
        if isinstance(answer, NotQueued) and answer.reason == "already_seated":
            await self.book(answer.detail)
            answer = await self._lobby.join(agent_id, request)
        self.wake()
        return answer

    def wake(self) -> None:
        """Look at the queue soon: somebody may have come."""
        self._joined.set()

    async def run(self) -> None:
        """Form tables until cancelled."""
        while True:
            with store_permitting():  # the next look finds the queue as it was
                await self.sweep()
            with suppress(TimeoutError):
                async with asyncio.timeout(SWEEP_SECONDS * random.uniform(0.5, 1.5)):
                    await self._joined.wait()
            self._joined.clear()

    async def sweep(self) -> None:
        """Finish tables that were left half-formed, and form every table that can be."""
        for match_id, formed in (await self._lobby.forming()).items():
            await self._create(match_id, formed)
        while (chosen := pick(await self._lobby.waiting())) is not None:
            await self._form(chosen)

    async def _form(self, chosen: Pick) -> None:
        match_id = MatchId(secrets.token_hex(8))
        members = tuple(
            Member(agent.agent_id, agent.request.name, agent.request.client_seed)
            for agent in chosen.agents
        )
        party = Party(chosen.entry_fee_hp, members)
        tickets = [agent.ticket for agent in chosen.agents]
        formed = await self._lobby.form(match_id, party, tickets)
        if formed is not None:
            await self._create(match_id, formed)

    async def _create(self, match_id: MatchId, formed: Formed) -> None:
        contenders = [
            Contender(member.agent_id, member.name, member.client_seed, balance_hp)
            for member, balance_hp in zip(formed.party.members, formed.balances_hp, strict=True)
        ]
        server_seed = secrets.token_bytes(SEED_BYTES)
        match, events = rules.start(
            match_id,
            contenders,
            rules.standard_config(self._settings.turn_ms, self._settings.away_ms),
            formed.party.entry_fee_hp,
            self._settings.platform_fee_bps,
            server_seed,
            AT_COMMIT,
        )
        # Lost to another hub that creates the same match, this is a conflict, and as good.
        await self._tables.commit(match, events, server_seed=server_seed)
        created = await self._tables.load(match_id)
        if created is not None:
            await self._lobby.formed(list_row(created.copy.match))
            _log.info("match_started", match_id=match_id, fee_hp=formed.party.entry_fee_hp)
