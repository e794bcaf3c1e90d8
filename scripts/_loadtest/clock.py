"""Tell hub time by one's own clock: events carry the shared store's time of their commit.

The difference is estimated from `welcome.now`, which a hub writes as it sends it. Delay and
rounding only ever make it look too early, so the latest-looking of many welcomes says it best.
It is right only where the hub and its store go by one clock: on one machine, or by NTP.
"""

import time


class HubClock:
    """One process's view of the hubs' clock."""

    def __init__(self) -> None:
        self._ahead_ms: float | None = None

    def welcome(self, now_ms: int) -> None:
        """Learn from a welcome that has just come."""
        ahead_ms = now_ms - time.time() * 1000
        self._ahead_ms = ahead_ms if self._ahead_ms is None else max(self._ahead_ms, ahead_ms)

    def since_us(self, ts_ms: int) -> int:
        """Return how long ago something happened, in us; `ts` is in whole ms, rounded down."""
        return round((time.time() * 1000 + (self._ahead_ms or 0.0) - ts_ms) * 1000)
