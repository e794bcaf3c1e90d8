"""Several processes on one port: one that dies is started again, and bots go on."""

import os
from pathlib import Path
from signal import SIGKILL

from scripts._chaos.hubs import HubProcess
from scripts._chaos.run import conclude
from scripts._chaos.verdict import judge
from tests.chaos.conftest import OpenArena, finished_matches


def workers(hub: HubProcess) -> list[int]:
    """List the processes that a hub runs as its workers."""
    children = Path(f"/proc/{hub.pid}/task/{hub.pid}/children").read_text().split()
    return [int(pid) for pid in children if "spawn_main" in command_of(pid)]


def command_of(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except FileNotFoundError:
        return ""


async def test_a_killed_worker_is_started_again_and_bots_go_on(arena: OpenArena) -> None:
    async with arena(hubs=1, workers=2, turn_seconds=10.0) as one:
        hub = one.places[0].hub
        await finished_matches(one, 1)
        killed, survivor = workers(hub)
        os.kill(killed, SIGKILL)
        while survivor not in (now := workers(hub)) or killed in now or len(now) != 2:
            await finished_matches(one, len(one.live.finished) + 1)
        await finished_matches(one, len(one.live.finished) + 1)
        assert survivor in workers(hub)
        verdict = judge(await conclude(one))
    assert (verdict.troubles, verdict.hp_difference, verdict.autos_explained) == ([], 0, {})
