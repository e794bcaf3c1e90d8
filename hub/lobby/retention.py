"""Let finished matches go when they are old or too many."""

import asyncio
import random
import time

import structlog

from hub.settings import Settings
from hub.store.history import History
from hub.store.link import store_permitting
from hub.store.tables import Tables

ROUND_SECONDS = 60.0  # between looks at the oldest matches, give or take a third
DAY_MS = 86_400_000

_log = structlog.get_logger()


class Archivist:
    """Watches over the history of one store. Every hub does; to delete twice does no harm."""

    def __init__(self, history: History, tables: Tables, settings: Settings) -> None:
        self._history = history
        self._tables = tables
        self._keep_ms = int(settings.keep_days * DAY_MS)
        self._keep_matches = settings.keep_matches

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            with store_permitting():
                while await self.prune():
                    pass
            await asyncio.sleep(ROUND_SECONDS * random.uniform(2 / 3, 4 / 3))

    async def prune(self) -> int:
        """Delete a few of the matches that may go; how many there were."""
        oldest_ms = int(time.time() * 1000) - self._keep_ms
        rows = await self._history.expired(oldest_ms, self._keep_matches)
        for row in rows:
            # The table first: what is off the lists would never be found again.
            await self._tables.delete(row.match_id)
            await self._history.forget(row)
        if rows:
            _log.info("matches_forgotten", count=len(rows))
        return len(rows)
