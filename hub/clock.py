"""Act when time has come: place for agents whose deadline has passed, book finished matches.

Every hub does this for every table. The store hands each due table to one hub at a time, and
books each result once, so that it does not matter how many hubs there are or which one dies.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import structlog

from hub.listing import row
from hub.matchmaker import Matchmaker
from hub.metrics import Metrics
from hub.referee import Referee
from hub.rules.summary import platform_fee
from hub.store.link import StoreUnavailable
from hub.store.lobby import Lobby, Result
from hub.store.tables import Claimed, Tables
from protocol.codec import decode_event
from protocol.messages import MatchFinished

LONGEST_SLEEP_SECONDS = 1.0  # deadlines that other hubs have set may be nearer than those we know

_log = structlog.get_logger()


class Clock:
    """Watches the deadlines and the unbooked results of one store."""

    def __init__(
        self,
        tables: Tables,
        lobby: Lobby,
        referee: Referee,
        matchmaker: Matchmaker,
        metrics: Metrics,
    ) -> None:
        self._tables = tables
        self._lobby = lobby
        self._referee = referee
        self._matchmaker = matchmaker
        self._metrics = metrics
        self._finished = asyncio.Event()
        referee.on_finish = self._finished.set

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            sleep_seconds = LONGEST_SLEEP_SECONDS
            with suppress(StoreUnavailable):
                sleep_seconds = await self.tick()
            with suppress(TimeoutError):
                async with asyncio.timeout(sleep_seconds):
                    await self._finished.wait()
            self._finished.clear()

    async def tick(self) -> float:
        """Do all that is due; the seconds until something may be due again."""
        slots = self._tables.slots
        claims = await asyncio.gather(*(self._tables.claim(slot) for slot in slots))
        unbooked = await asyncio.gather(*(self._tables.unbooked(slot) for slot in slots))
        await asyncio.gather(
            *(self._time_out(match_id) for claimed in claims for match_id in claimed.match_ids),
            *(self.book(match_id) for match_ids in unbooked for match_id in match_ids),
        )
        return _until_next(claims)

    async def book(self, match_id: str) -> None:
        """Pay out a finished match, once, whoever asks and however often."""
        loaded, last = await asyncio.gather(
            self._tables.load(match_id), self._tables.last_event(match_id)
        )
        if loaded is None or last is None:
            return
        finished = decode_event(last, "msgpack")
        if not isinstance(finished, MatchFinished):
            return
        match = loaded.copy.match
        results = [
            Result(moved.agent_id, moved.payout, moved.seat == match.winner_seat)
            for moved in finished.summary.hp_movement
        ]
        paid_fee = match.winner_seat is not None
        fee_hp = platform_fee(match.pot_hp, match.platform_fee_bps) if paid_fee else 0
        if await self._lobby.book(row(match, finished_at=finished.ts), results, fee_hp):
            self._metrics.matches_finished.labels(finished.finish_reason).inc()
            _log.info("match_finished", match_id=match_id, winner_seat=match.winner_seat)
            self._matchmaker.wake()  # some of its agents may have joined again
        await self._tables.mark_booked(match_id)

    async def _time_out(self, match_id: str) -> None:
        if await self._referee.time_out(match_id):
            self._metrics.auto_placements.inc()


def _until_next(claims: Sequence[Claimed]) -> float:
    nearest = [claimed.next_ms / 1000 for claimed in claims if claimed.next_ms is not None]
    return min([LONGEST_SLEEP_SECONDS, *nearest])
