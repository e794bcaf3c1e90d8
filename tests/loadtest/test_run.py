"""Short real loads on a hub: what is printed, written and returned."""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from hub.app import Hub
from tests.clients import SECRET
from tests.conftest import MakeHub

ROOT = Path(__file__).parents[2]
SMALL = ("--bots", "4", "--spectators", "6", "--ramp", "0", "--think", "0")


async def run(hubs: list[Hub], *options: str, secret: str = SECRET.decode()) -> tuple[int, str]:
    """Run scripts/loadtest's program; its exit code and all that it printed."""
    urls = [word for hub in hubs for word in ("--url", f"ws://127.0.0.1:{hub.address[1]}")]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "scripts._loadtest", *urls, *SMALL, *options),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=ROOT,
        env=os.environ | {"VEGAS_SECRET": secret, "COLUMNS": "200"},
    )
    printed, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, printed.decode()


async def test_a_load_on_two_hubs_shows_what_came_of_it(make_hub: MakeHub, tmp_path: Path) -> None:
    hubs = [await make_hub(), await make_hub()]
    files = ("--json", str(tmp_path / "o.json"), "--report", str(tmp_path / "o.html"))
    shares = ("--duration", "5", "--processes", "2", "--reconnects", "0.2", "--slow", "0.2")
    expected = "gaps=0,duplicates=0,closes=0,failures=0,moves_per_s>0,p50_ms>0"
    code, printed = await run(hubs, *files, *shares, "--expect", expected)
    assert code == 0, printed
    outcome = json.loads((tmp_path / "o.json").read_bytes())
    assert (outcome["bots"], outcome["spectators"], outcome["seconds"]) == (4, 6, 5)
    assert set(outcome["latency_ms"]) == {"roll", "ack", "spectator"}
    assert "action to ack" in printed
    assert "<svg" in (tmp_path / "o.html").read_text()


async def test_an_expectation_that_does_not_hold_is_exit_1(hub: Hub) -> None:
    code, printed = await run([hub], "--duration", "1", "--expect", "moves_per_s>1000000")
    assert code == 1
    assert "NOT OK" in printed


async def test_a_hub_that_has_stopped_is_counted_as_failures(hub: Hub, tmp_path: Path) -> None:
    await hub.server.drain()
    code, _ = await run([hub], "--duration", "1", "--json", str(tmp_path / "o.json"))
    assert code == 0
    assert json.loads((tmp_path / "o.json").read_bytes())["failures"].keys() == {"refused"}


async def test_without_a_secret_there_is_no_load(hub: Hub, tmp_path: Path) -> None:
    code, printed = await run([hub], "--data-dir", str(tmp_path / "none"), secret="")
    assert code == 1
    assert "There is no secret in" in printed


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--expect", "p98_ms<1"), "'p98_ms' is none of"),
        (("--url", "http://there"), "is not like ws://HOST:PORT"),
        (("--slow", "2"), "is not in the range"),
    ],
)
async def test_wrong_options_are_exit_2(options: tuple[str, ...], says: str) -> None:
    code, printed = await run([], *options)
    assert code == 2
    assert says in printed
