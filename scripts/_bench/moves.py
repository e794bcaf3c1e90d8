"""Measure how long a move takes from a bot's frame to another bot on another hub.

The floor, in the same run: one EVALSHA of the hub's own commit script from a bare client, and one
echo of the bare websockets package.
"""

import asyncio
import socket
import statistics
import time
from contextlib import ExitStack, closing
from typing import Any

import hiredis
from redis.asyncio.connection import parse_url

from hub.store.link import Script
from hub.store.tables import Tables

from .bench import Bench
from .dealer import Dealer
from .figures import Report, Series, p99
from .players import LiveTable, Players
from .process import Program
from .wire import Wire

MOVES = 60  # of each table
BUSY_TABLES = 200
BUSY_SECONDS = 6.0
PAUSE_SECONDS = 0.2
ACTION_BYTES = 150
WARM_UP = 30
LIMIT_MEDIAN, LIMIT_P99 = 2.0, 4.0
MICRO = 1e6

FLOOR = "floor: EVALSHA + echo"


class BareLink:
    """Runs scripts over a bare socket, one at a time, and notes how long each took."""

    def __init__(self, redis_url: str) -> None:
        self.took: list[float] = []
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(parse_url(redis_url)["path"])
        self._reader = hiredis.Reader()

    def run(
        self, script: Script, keys: list[str], *args: str | bytes | int
    ) -> "asyncio.Future[Any]":
        """Run a script; its reply is there at once."""
        words: Any = ("EVALSHA", script.sha, len(keys), *keys, *args)
        command = hiredis.pack_command(words)
        started = time.perf_counter()
        self._socket.sendall(command)
        while (reply := self._read()) is False:
            pass
        self.took.append(time.perf_counter() - started)
        if isinstance(reply, Exception):
            raise reply
        answer = asyncio.get_running_loop().create_future()
        answer.set_result(reply)
        return answer

    def _read(self) -> Any:
        self._reader.feed(self._socket.recv(65536))
        return self._reader.gets()

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class Latencies:
    """Samples of medians and 99th percentiles, by name."""

    def __init__(self) -> None:
        self.medians, self.p99s = Series("us, median"), Series("us, p99")

    def add(self, name: str, seconds: list[float]) -> None:
        """Add a sample of each."""
        self.medians.add(name, statistics.median(seconds) * MICRO)
        self.p99s.add(name, p99(seconds) * MICRO)


async def moves(bench: Bench) -> Report:
    """Play across two hubs, at one table and at many."""
    found = Latencies()
    late: list[float] = []
    errors: list[str] = []
    with ExitStack() as exits:
        hubs = [
            exits.enter_context(bench.hub(core)) for core in (bench.server_core, bench.other_core)
        ]
        ports = [hub.port for hub in hubs]
        bare = exits.enter_context(Program.python("bare", core=bench.server_core))
        echo_port = int(bare.read())
        for _ in range(bench.repeats):
            found.add(FLOOR, await _floor(bench, echo_port))
            for tables, pause in ((1, 0.0), (BUSY_TABLES, PAUSE_SECONDS)):
                live = [LiveTable(await bench.dealer.open(), ports) for _ in range(tables)]
                with closing(Players(live, pause)) as players:
                    players.settle(0.1)
                    players.play(MOVES * tables, BUSY_SECONDS)
                    found.add(_name(tables), players.latencies)
                    late += players.late
                    errors += players.errors
                for table in live:
                    table.close()
    notes = [f"The bench sent its moves late by {p99(late) * 1000:.2f} ms at p99."]
    return Report(
        f"Moves: from a bot's frame to another bot on another hub; {BUSY_TABLES} tables"
        f" at {1 / PAUSE_SECONDS:.0f} moves a second each",
        (*found.medians.figures(), *found.p99s.figures()),
        (
            *(found.medians.ratio(_name(n), FLOOR, LIMIT_MEDIAN) for n in (1, BUSY_TABLES)),
            *(found.p99s.ratio(_name(n), FLOOR, LIMIT_P99) for n in (1, BUSY_TABLES)),
        ),
        (*notes, *(f"Errors: {errors}" for _ in errors[:1])),
    )


async def _floor(bench: Bench, echo_port: int) -> list[float]:
    """Pair the times of commits with those of echoes."""
    with closing(BareLink(bench.redis_url)) as link:
        dealer = Dealer(bench.tables)
        bare = Dealer(Tables(link, bench.keys), load_by=bench.tables)  # type: ignore[arg-type]
        for _ in range(4):
            play = await dealer.open()
            for _ in range(MOVES):
                await bare.move(play)
        commits = link.took
    return [sum(pair) for pair in zip(commits, _echoes(echo_port, len(commits)), strict=True)]


def _echoes(port: int, count: int) -> list[float]:
    message, took = bytes(ACTION_BYTES), []
    with closing(Wire(port, "/")) as wire:
        for _ in range(WARM_UP + count):
            started = time.perf_counter()
            wire.send(message)
            wire.take()
            took.append(time.perf_counter() - started)
    return took[WARM_UP:]


def _name(tables: int) -> str:
    return "hub, one table" if tables == 1 else f"hub, {tables} tables"
