"""Spread what has to be done for many over the time until it has to be done again.

All at once it would hold up the hub and the store, for longer with each table and each socket.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import TypeVar

FEW = 16  # at a time, or more:
PORTIONS = 250  # at most, as each may have to wait for the store

T = TypeVar("T")


async def spread(items: Iterable[T], seconds: float) -> AsyncIterator[Sequence[T]]:
    """Yield the items, few at a time and at an even pace; the last pause ends after `seconds`.

    What is done with them counts for the pace, unless it takes longer.
    """
    loop = asyncio.get_running_loop()
    started = loop.time()
    left = list(items)
    size = max(FEW, math.ceil(len(left) / PORTIONS))
    for at in range(0, len(left), size):
        yield left[at : at + size]
        passed = min((at + size) / len(left), 1)
        await asyncio.sleep(started + seconds * passed - loop.time())
    if not left:
        await asyncio.sleep(seconds)
