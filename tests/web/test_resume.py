"""A hub that dies under the page, and comes back."""

import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.clients import SECRET

from .conftest import MakePage
from .drivers import seat

# The numbers of a match's placements, as the hub's log has them.
READ_PLACEMENTS = """async (id) => (await (await import("/web/api.js")).fetchLog(id))
    .filter((event) => event.type === "placed").map((event) => String(event.seq))"""

StartHub = Callable[[int], Awaitable[Process]]


@pytest.fixture
async def start_hub(redis_url: str, prefix: str, tmp_path: Path) -> AsyncIterator[StartHub]:
    """Start hubs in processes of their own, on a port, that share one store."""
    processes: list[Process] = []

    async def start(port: int) -> Process:
        options = ("--redis", redis_url, "--prefix", prefix, "--data-dir", str(tmp_path))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "hub", "serve", "--port", str(port), *options),
            stdout=PIPE,
            env={**os.environ, "VEGAS_SECRET": SECRET.decode()},
        )
        processes.append(process)
        assert process.stdout is not None
        async for line in process.stdout:
            if b"is open at" in line:
                break
        return process

    yield start
    for process in processes:
        await kill(process)


async def kill(process: Process) -> None:
    if process.returncode is None:
        process.send_signal(signal.SIGKILL)
        await process.communicate()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


async def test_a_page_goes_on_without_a_gap_after_its_hub_was_killed(
    start_hub: StartHub, make_page: MakePage
) -> None:
    port = free_port()
    first = await start_hub(port)
    page = await make_page(expected="ERR_CONNECTION_REFUSED")  # each attempt while it is away
    async with seat(f"ws://127.0.0.1:{port}") as drivers:
        await drivers.play(3)
        await page.goto(f"http://127.0.0.1:{port}/#/match/{drivers.match_id}")
        await expect(page.locator(".event.is-placed")).to_have_count(3)
        await kill(first)
        await expect(page.locator(".connection")).to_contain_text("Reconnecting")
        await expect(page.locator(".match-head.is-cut")).to_be_visible()
        await start_hub(port)
        await drivers.play(3)
        await expect(page.locator(".connection")).to_be_hidden()
        await expect(page.locator(".match-head.is-cut")).to_have_count(0)
        await expect(page.locator(".event.is-placed")).to_have_count(6)
        shown = await page.locator(".event.is-placed .moment").all_text_contents()
        assert shown == await page.evaluate(READ_PLACEMENTS, drivers.match_id)


async def test_a_page_comes_back_when_it_is_told_to(
    start_hub: StartHub, make_page: MakePage
) -> None:
    """A hub that stops in order says when to come back (`bye`)."""
    port = free_port()
    first = await start_hub(port)
    page = await make_page(expected="ERR_CONNECTION_REFUSED")
    async with seat(f"ws://127.0.0.1:{port}") as drivers:
        await page.goto(f"http://127.0.0.1:{port}/#/match/{drivers.match_id}")
        await expect(page.locator(".progress")).to_contain_text("turn 1 ")
        first.terminate()
        await first.wait()
        await start_hub(port)
        await drivers.play(1)
        await expect(page.locator(".progress")).to_contain_text("turn 2 ")
