"""Begin a coroutine at once, and make a task only of what is left when it has to wait.

A task begins in the next turn of the loop; for an answer that is on its way to somebody that is a
turn too late. From Python 3.12 on the loop can do this by itself (`eager_start`).
"""

import asyncio
import types
from collections.abc import Coroutine, Generator
from typing import Any


def begin(work: Coroutine[Any, Any, None]) -> asyncio.Task[None] | None:
    """Run `work` to its end or its first wait; the task that does the rest, None if none is left.

    Up to its first wait there is no current task, so it can't use asyncio.timeout there. What it
    raises up to then is raised here.
    """
    try:
        awaited = work.send(None)
    except StopIteration:
        return None
    return asyncio.get_running_loop().create_task(_rest(work, awaited))


@types.coroutine
def _rest(work: Coroutine[Any, Any, None], awaited: Any) -> Generator[Any, Any, None]:
    try:
        yield awaited
    except BaseException as error:  # cancelled: that is for the work to hear
        try:
            yield work.throw(error)
        except StopIteration:
            return
    yield from work
