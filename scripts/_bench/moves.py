"""Measure how long a move takes from a bot's frame to another bot on another hub.

The floor, in the same run: one EVALSHA of the hub's own commit script from a bare client, and one
echo of the bare websockets package.
"""

import asyncio
import socket
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
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
from .process import Program, stand_back
from .wire import Wire

MOVES = 60  # of each table
BUSY_TABLES = 200
BUSY_SECONDS = 6.0
PAUSE_SECONDS = 0.2
ACTION_BYTES = 150
WARM_UP = 30
WARM_UP_MOVES = 5  # of each table
SAMPLES = 400
FLOOR_ROUNDS = 20  # so that one table lasts for all samples
LIMIT_MEDIAN, LIMIT_P99 = 2.0, 4.0
MICRO = 1e6

ONE, BUSY = "one table", f"{BUSY_TABLES} tables"


class BareLink:
    """Runs scripts over a bare socket, one at a time, and notes how long each took."""

    def __init__(self, redis_url: str) -> None:
        self.took: list[float] = []
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(parse_url(redis_url)["path"])
        self._reader = hiredis.Reader()

    def run(
        self, script: Script, keys: Sequence[str], *args: str | bytes | int
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
    """Play across two hubs, at one table and at many; the floor keeps the same pace as each."""
    found = Latencies()
    notes: list[str] = []
    with ExitStack() as exits:
        cores = (bench.server_core, bench.other_core)
        ports = [exits.enter_context(bench.hub(core)).port for core in cores]
        echo = exits.enter_context(Program.python("bare", core=bench.server_core))
        echo_port = int(echo.read())
        for _ in range(bench.repeats):
            for name, tables, pause in ((ONE, 1, 0.0), (BUSY, BUSY_TABLES, PAUSE_SECONDS)):
                floor, latencies, errors = await _sample(bench, ports, echo_port, tables, pause)
                found.add(f"floor, {name}", floor)
                found.add(f"hub, {name}", latencies)
                notes += sorted(set(errors))
    names = (ONE, BUSY)
    return Report(
        f"Moves: from a bot's frame to another bot on another hub; {BUSY_TABLES} tables"
        f" at {1 / PAUSE_SECONDS:.0f} moves a second each",
        (*found.medians.figures(), *found.p99s.figures()),
        (
            *(found.medians.ratio(f"hub, {n}", f"floor, {n}", LIMIT_MEDIAN) for n in names),
            *(found.p99s.ratio(f"hub, {n}", f"floor, {n}", LIMIT_P99) for n in names),
        ),
        ("The floor is one EVALSHA of a bare client and one echo, as many a second.", *notes),
    )


async def _sample(
    bench: Bench, ports: Sequence[int], echo_port: int, tables: int, pause: float
) -> tuple[list[float], list[float], list[str]]:
    """Play tables whose seats are on one hub and the other in turn; the floor before and after.

    One table at a time is played again and again. Returns the floor, the hubs' times, and errors.
    """
    floor: list[float] = []
    latencies: list[float] = []
    errors: list[str] = []
    loop = asyncio.get_running_loop()
    while len(latencies) < SAMPLES:
        samples = min(SAMPLES, MOVES * tables) // 2
        floor += await _floor(bench, echo_port, tables, pause, samples)
        live = [LiveTable(await bench.dealer.open(), ports) for _ in range(tables)]
        with (
            closing(Players(live, pause)) as players,
            ThreadPoolExecutor(1, "", stand_back) as aside,
        ):
            players.settle(0.1)
            await loop.run_in_executor(aside, players.play, MOVES * tables, BUSY_SECONDS)
        for table in live:
            table.close()
        floor += await _floor(bench, echo_port, tables, pause, samples)
        latencies += players.latencies[WARM_UP_MOVES * tables :]
        errors += players.errors
    return floor, latencies, errors


async def _floor(
    bench: Bench, echo_port: int, tables: int, pause: float, samples: int
) -> list[float]:
    """Time a commit and then an echo, again and again, each across the two cores.

    One after the other, as a move does it: in a loop of its own, each would find its caches hot.
    """
    gap = pause / tables
    plays = [await bench.dealer.open(FLOOR_ROUNDS) for _ in range(tables)]
    message, echoes = bytes(ACTION_BYTES), []
    with closing(BareLink(bench.redis_url)) as link, closing(Wire(echo_port, "/")) as wire:
        dealer = Dealer(Tables(link, bench.keys), load_by=bench.tables)  # type: ignore[arg-type]
        for number in range(WARM_UP + samples):
            play = plays[number % tables]
            move = play.next_move()
            await asyncio.sleep(gap)
            with bench.on_server_core():
                await dealer.commit(play, move)
            wire.send(message)
            wire.take()
            echoes.append((wire.arrived_ns - wire.sent_ns) / 1e9)
    return [sum(pair) for pair in zip(link.took[WARM_UP:], echoes[WARM_UP:], strict=True)]
