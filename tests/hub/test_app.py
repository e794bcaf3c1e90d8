"""A hub as its users start it: one command, its bundled Valkey and house bots."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import redis

from tests.hub.test_cli import serving

WAIT_SECONDS = 30.0  # far more than anything here takes
POLL_SECONDS = 0.05

Row = dict[str, Any]


@contextmanager
def casino(data_dir: Path) -> Iterator[str]:
    """Run a hub with four house bots until Ctrl-C; its address."""
    options = ("--port", "0", "--data-dir", str(data_dir), "--house-bots", "4")
    with serving(*options) as hub:
        yield hub.announced.rsplit(" ", 1)[1]
        hub.process.send_signal(signal.SIGINT)
        assert hub.process.wait(WAIT_SECONDS) == 0


def newest_match(address: str, fits: Callable[[Row], bool]) -> Row:
    """Wait until the newest match is as wanted."""
    give_up_at = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < give_up_at:
        with urlopen(f"{address}/api/matches?limit=1") as page:
            rows: list[Row] = json.load(page)["matches"]
        if rows and fits(rows[0]):
            return rows[0]
        time.sleep(POLL_SECONDS)
    raise AssertionError("the match that was waited for did not come")


def kill_store(data_dir: Path) -> None:
    with redis.Redis(unix_socket_path=str(data_dir / "valkey.sock")) as client:
        os.kill(client.info("server")["process_id"], signal.SIGKILL)


def test_house_bots_play_from_the_start(tmp_path: Path) -> None:
    with casino(tmp_path) as address:
        row = newest_match(address, lambda row: row["turn"] >= 3)
    assert [player["agent_id"][:6] for player in row["players"]] == ["house-"] * 4
    assert row["status"] == "playing"


def test_a_second_start_goes_on_with_the_same_match(tmp_path: Path) -> None:
    with casino(tmp_path) as address:
        before = newest_match(address, lambda row: row["turn"] >= 2)
    with casino(tmp_path) as address:
        after = newest_match(address, lambda row: row["turn"] >= before["turn"] + 2)
    assert after["match_id"] == before["match_id"]


def test_a_killed_store_is_started_again_and_the_match_goes_on(tmp_path: Path) -> None:
    with casino(tmp_path) as address:
        before = newest_match(address, lambda row: row["turn"] >= 2)
        kill_store(tmp_path)
        after = newest_match_after_outage(address, before["turn"] + 2)
    assert after["match_id"] == before["match_id"]


def newest_match_after_outage(address: str, turn: int) -> Row:
    """Wait for a turn through the time in which the hub has no list to give."""
    while True:
        try:
            return newest_match(address, lambda row: row["turn"] >= turn)
        except OSError:
            time.sleep(POLL_SECONDS)
