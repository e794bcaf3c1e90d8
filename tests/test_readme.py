"""The README's bot is run as it stands, but for the address."""

import asyncio
import re
import signal
import sys
from pathlib import Path

from hub.app import Hub
from tests.clients import HANG_SECONDS, token
from tests.protocol.tables import address, opponents

README = Path(__file__).parents[1] / "README.md"


def snippet() -> str:
    (found,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    return str(found)


async def test_the_bot_plays_a_match_and_ends_on_ctrl_c(hub: Hub) -> None:
    program = snippet().replace("ws://127.0.0.1:8765", address(hub))
    bot = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, env={"VEGAS_TOKEN": token("my-bot")}
    )
    async with asyncio.timeout(HANG_SECONDS), opponents(hub) as others:
        summaries = await asyncio.gather(*others)
        bot.send_signal(signal.SIGINT)
        assert await bot.wait() == 0
    (mine,) = [player for player in summaries[0].players if player.agent_id == "my-bot"]
    assert (mine.placements > 0, mine.auto_placements) == (True, 0)


def test_a_bot_is_about_ten_lines() -> None:
    assert len([line for line in snippet().splitlines() if line.strip()]) <= 10


def test_the_commands_that_it_opens_with_exist() -> None:
    commands = re.findall(r"^ {4}(scripts/\w+)", README.read_text(), re.MULTILINE)
    assert commands[:2] == ["scripts/run", "scripts/test"]
    assert all((README.parent / command).is_file() for command in commands)
