import asyncio

import pytest

from hub.sockets.eager import begin


async def test_what_does_not_wait_is_done_at_once() -> None:
    done: list[int] = []

    async def work() -> None:
        done.append(1)

    assert begin(work()) is None
    assert done == [1]


async def test_what_waits_goes_on_as_a_task() -> None:
    steps: list[object] = []
    future: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def work() -> None:
        steps.append("begun")
        steps.append(await future)
        async with asyncio.timeout(1):
            await asyncio.sleep(0)
            steps.append(asyncio.current_task())

    task = begin(work())
    assert steps == ["begun"]
    future.set_result("heard")
    assert task is not None
    await task
    assert steps == ["begun", "heard", task]


async def test_what_it_waits_for_may_fail() -> None:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def work() -> None:
        with pytest.raises(KeyError):
            await future
        raise ValueError

    task = begin(work())
    future.set_exception(KeyError())
    assert task is not None
    with pytest.raises(ValueError):  # noqa: PT011 - it has no message
        await task


@pytest.mark.parametrize("survives", [True, False])
async def test_it_hears_of_its_cancellation(survives: bool) -> None:
    heard: list[str] = []

    async def work() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            heard.append("cancelled")
            if not survives:
                raise
            await asyncio.sleep(0)
            heard.append("went on")

    task = begin(work())
    assert task is not None
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert heard == (["cancelled", "went on"] if survives else ["cancelled"])
    assert task.cancelled() is not survives


async def test_what_fails_at_once_fails_here() -> None:
    async def work() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        begin(work())
