"""House bots on real hubs, in this process and from the command line."""

import asyncio
import os
import random
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from hub.app import Hub
from hub.house.__main__ import main, result_line
from hub.house.bots import play
from hub.house.policies import play_greedily
from protocol.client import Tally
from protocol.messages import AgentId, MatchFinished, MatchSummary
from tests.clients import token
from tests.protocol.tables import OTHERS, address, waiting
from tests.rules.matches import play as play_by_rules


def bot(hub: Hub, agent_id: str, *, matches: int = 1, **options: Any) -> asyncio.Task[Tally]:
    playing = play(
        address(hub),
        token(agent_id),
        play_greedily,
        chance=random.Random(1),
        matches=matches,
        **options,
    )
    return asyncio.create_task(playing)


@asynccontextmanager
async def others(hub: Hub, **options: Any) -> AsyncIterator[None]:
    tasks = [bot(hub, agent_id, **options) for agent_id in OTHERS]
    yield
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_bots_play_for_what_all_can_pay(hub: Hub) -> None:
    """The fee is in the middle of what all accept, from 0 to the poorest one's HP."""
    heard: list[MatchSummary] = []
    async with others(hub, matches=2):
        tally = await bot(
            hub, "ann", matches=2, report=lambda summary, _agent_id, _tally: heard.append(summary)
        )
    staked = [[moved.staked for moved in summary.hp_movement] for summary in heard]
    assert staked == [[500] * 4, [250] * 4]
    assert tally.matches == 2


async def test_bots_play_for_no_more_than_they_are_told(hub: Hub) -> None:
    heard: list[MatchSummary] = []
    async with others(hub, fee_limit=40):
        await bot(hub, "ann", report=lambda summary, _agent_id, _tally: heard.append(summary))
    assert [moved.staked for moved in heard[0].hp_movement] == [20] * 4


async def test_a_bot_reports_each_match_as_its_own(hub: Hub) -> None:
    heard: list[tuple[AgentId | None, Tally]] = []
    async with others(hub):
        tally = await bot(
            hub, "ann", report=lambda _summary, agent_id, tally: heard.append((agent_id, tally))
        )
    assert heard == [(AgentId("ann"), tally)]


async def test_a_bot_looks_at_its_dice(hub: Hub) -> None:
    pauses = []

    def pause() -> float:
        pauses.append(0)
        return 0

    heard: list[MatchSummary] = []
    async with others(hub):
        await bot(
            hub,
            "ann",
            pause=pause,
            report=lambda summary, _agent_id, _tally: heard.append(summary),
        )
    (mine,) = (each for each in heard[0].players if each.agent_id == "ann")
    assert (len(pauses), mine.auto_placements) == (mine.placements, 0)


# ---- The command line ----------------------------------------------------------------------------


async def invoke(*arguments: str, **environment: str | None) -> Result:
    runner = CliRunner(env={"VEGAS_TOKEN": None, **environment})
    return await asyncio.to_thread(runner.invoke, main, arguments)


async def test_a_line_is_printed_for_each_match(hub: Hub) -> None:
    async with others(hub, matches=2):
        result = await invoke(address(hub), "--token", token("ann"), "--matches", "2")
    pattern = r"\w+  (won |lost) with \$[\d,]+  [+-]\d+ HP  now \d+ HP, \d of {} won\n"
    assert re.fullmatch(pattern.format(1) + pattern.format(2), result.output)
    assert result.exit_code == 0


async def test_the_token_may_be_in_the_environment(hub: Hub) -> None:
    async with others(hub):
        result = await invoke(
            *(address(hub), "--policy", "random", "--matches", "1", "--fee-limit", "10"),
            VEGAS_TOKEN=token("ann"),
        )
    assert result.exit_code == 0


async def test_the_token_may_be_in_a_file(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(token("ann") + "\n")
    async with others(hub):
        result = await invoke(
            address(hub), "--token-file", str(tmp_path / "token"), "--matches", "1"
        )
    assert result.exit_code == 0


async def test_a_token_is_needed(hub: Hub) -> None:
    result = await invoke(address(hub))
    assert result.exit_code == 2
    assert "Error: Give a token: --token, --token-file or VEGAS_TOKEN.\n" in result.output


async def test_a_token_must_be_the_hubs(hub: Hub) -> None:
    result = await invoke(address(hub), "--token", "a.b.c")
    assert (result.exit_code, result.output) == (1, "Error: HTTP 401: the token is malformed\n")


async def test_ctrl_c_leaves_the_queue(hub: Hub) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "hub.house", address(hub)),
        env={**os.environ, "VEGAS_TOKEN": token("ann")},
        stdout=asyncio.subprocess.PIPE,
    )
    await waiting(hub, 1)
    process.send_signal(signal.SIGINT)
    printed, _ = await process.communicate()
    assert (printed, process.returncode) == (b"Left.\n", 0)
    await waiting(hub, 0)


@pytest.mark.parametrize(
    ("agent_id", "line"),
    [
        ("a1", "m0  won  with $420,000  +29 HP  now 140 HP, 4 of 8 won"),
        ("a2", "m0  lost with $310,000  -10 HP  now 102 HP, 3 of 8 won"),
    ],
)
def test_a_line_says_how_a_match_went(agent_id: str, line: str) -> None:
    (*_, finished) = play_by_rules().log
    assert isinstance(finished, MatchFinished)
    before = Tally(matches=7, wins=3)
    tally = before.add(finished.summary, AgentId(agent_id))
    assert result_line(finished.summary, AgentId(agent_id), tally) == line
