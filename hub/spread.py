"""Spread what has to be done for many over the time until it has to be done again.

All at once it would hold up the hub and the store, for longer with each table and each socket.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import TypeVar

FEW = 16  # at a time

T = TypeVar("T")


async def spread(items: Iterable[T], seconds: float) -> AsyncIterator[Sequence[T]]:
    """Yield the items, a FEW at a time and at an even pace; the last pause ends after `seconds`.

    What is done with them counts for the pace, unless it takes longer.
    """
    loop = asyncio.get_running_loop()
    started = loop.time()
    left = list(items)
    turns = -(-len(left) // FEW) or 1
    for turn in range(turns):
        few = left[turn * FEW : (turn + 1) * FEW]
        if few:
            yield few
        await asyncio.sleep(started + seconds * (turn + 1) / turns - loop.time())
