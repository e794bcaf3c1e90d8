"""Act when time has come: place for agents whose deadline has passed, book finished matches.

Every hub does this for every table. The store hands each due table to one hub at a time, and
books each result once, so that it does not matter how many hubs there are or which one dies.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import structlog

from hub.lobby.matchmaker import Matchmaker
from hub.metrics import Metrics
from hub.rules.summary import platform_fee
from hub.rules.table import list_row
from hub.store.link import store_permitting
from hub.store.lobby import Lobby, Result
from hub.store.tables import Tables
from hub.tables.referee import Attended, Referee
from protocol.codec import decode_event
from protocol.messages import MatchFinished

LONGEST_SLEEP_SECONDS = 0.5  # other hubs' deadlines may be nearer than ours; see also OUTAGE_MS

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
        matchmaker.book = self.book

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            sleep_seconds = LONGEST_SLEEP_SECONDS
            with store_permitting():
                sleep_seconds = await self.tick()
            with suppress(TimeoutError):
                async with asyncio.timeout(sleep_seconds):
                    await self._finished.wait()
            self._finished.clear()

    async def tick(self) -> float:
        """Do all that is due; the seconds until something may be due again."""
        slots = self._tables.slots
        attended = await asyncio.gather(*(self._referee.attend(slot) for slot in slots))
        self._metrics.auto_placements += sum(each.placed for each in attended)
        for match_ids in await asyncio.gather(*(self._tables.unbooked(slot) for slot in slots)):
            await asyncio.gather(*(self.book(match_id) for match_id in match_ids))
        if any(each.placed for each in attended):
            return 0.0  # the deadlines that this led to are not known yet
        return _until_next(attended)

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
        if await self._lobby.book(list_row(match, finished_at=finished.ts), results, fee_hp):
            self._metrics.matches_finished[finished.finish_reason] += 1
            _log.info("match_finished", match_id=match_id, winner_seat=match.winner_seat)
            self._matchmaker.wake()  # some of its agents may have joined again
        await self._tables.mark_booked(match_id)


def _until_next(attended: Sequence[Attended]) -> float:
    nearest = [each.next_ms / 1000 for each in attended if each.next_ms is not None]
    return min([LONGEST_SLEEP_SECONDS, *nearest])
