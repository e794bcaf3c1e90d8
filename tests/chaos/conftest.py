"""Runs with real hub processes on a real Valkey, each hub behind proxies of its own."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from scripts._chaos.arena import Arena, open_arena
from scripts._chaos.plan import Plan
from scripts._chaos.run import conclude
from scripts._chaos.verdict import Outcome

OpenArena = Callable[..., AbstractAsyncContextManager[Arena]]

SMALL: dict[str, Any] = {"hubs": 2, "bots": 8, "spectators": 6, "silent": 0.0, "think_ms": 0.0}


def small_plan(folder: Path, **changes: Any) -> Plan:
    return Plan(folder=folder, **{**SMALL, **changes})


@pytest.fixture
def arena(tmp_path: Path) -> OpenArena:
    """Open a small arena with everybody in it; options are those of a plan."""

    @asynccontextmanager
    async def open_small(**changes: Any) -> AsyncIterator[Arena]:
        async with open_arena(small_plan(tmp_path, **changes)) as arena:
            arena.open_to_all()
            yield arena

    return open_small


@pytest.fixture(scope="session")
def quiet_outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """What a short run without faults was, with one bot that never places."""

    async def play() -> Outcome:
        plan = small_plan(
            tmp_path_factory.mktemp("chaos"),
            bots=4,
            silent=0.25,
            turn_seconds=0.5,
            away_seconds=0.1,
        )
        async with open_arena(plan) as arena:
            arena.open_to_all()
            await finished_matches(arena, 1)
            return await conclude(arena)

    return asyncio.run(play())


async def finished_matches(arena: Arena, count: int) -> None:
    """Wait until so many matches have finished since the arena was opened."""
    while len(arena.live.finished) < count:  # noqa: ASYNC110 - the bots tell nobody
        await asyncio.sleep(0.01)
