"""Measure many small tables, and small tables beside a big one."""

import asyncio
import random
import time
from collections.abc import Sequence
from contextlib import ExitStack

from .bench import Bench
from .crowd import Crowd
from .dealer import SEATS, Play
from .figures import Report, Series, p99
from .players import agent_headers, agent_path
from .process import Program

TABLES = 1000
ROUNDS = 5  # moves of each table in one sample
AT_ONCE = 50  # commits under way
LIMIT_SEND = 1.6
MICRO = 1e6

SMALL_TABLES = 100
SPECTATORS = 5000
MOVES_PER_SECOND = 5.0
SECONDS = 8.0
LIMIT_P99 = 3.0
LAST_IN_LINE = 19

HUB, SEND = "hub, to agents", "websockets send()"
ALONE, BESIDE = "small tables alone", "beside a big table"


async def tables(bench: Bench, count: int = TABLES) -> Report:
    """Deliver moves to many tables of four agents, on the hub and by the bare package's send()."""
    series = Series("us of CPU a delivery")
    with ExitStack() as exits:
        hub, crowd = exits.enter_context(bench.hub()), exits.enter_context(bench.crowd(lazy=True))
        plays = [await bench.dealer.open() for _ in range(count)]
        seat_agents(crowd, hub.port, plays)
        bare, other = _bare(bench, exits, count * SEATS)
        for _ in range(bench.repeats):
            sizes: list[int] = []
            before = hub.cpu_seconds()
            for _ in range(ROUNDS):
                sizes += await move_each(bench, crowd, plays)
                crowd.wait()
            series.add(HUB, (hub.cpu_seconds() - before) * MICRO / len(sizes) / SEATS)
            size = sum(sizes) // len(sizes)
            before = bare.cpu_seconds()
            other.expect(0, ROUNDS * size)
            bare.ask(f"tables {ROUNDS} {size}")
            other.wait()
            series.add(SEND, (bare.cpu_seconds() - before) * MICRO / len(sizes) / SEATS)
    return Report(
        f"Tables: {count} tables of four agents, moves committed elsewhere",
        tuple(series.figures()),
        (series.ratio(HUB, SEND, LIMIT_SEND),),
        ("The hub's part includes hearing each move from the store.",),
    )


async def neighbours(bench: Bench) -> Report:
    """Time the moves at small tables, with and without a big table on the same hub."""
    medians, p99s = Series("ms, median"), Series("ms, p99")

    def note(name: str, seconds: list[float]) -> None:
        medians.add(name, sorted(seconds)[len(seconds) // 2] * 1000)
        p99s.add(name, p99(seconds) * 1000)

    with ExitStack() as exits:
        hub = exits.enter_context(bench.hub())
        agents = exits.enter_context(bench.crowd())
        # They share a core with what is timed, which has to be the hub's doing and not theirs.
        spectators = exits.enter_context(bench.crowd(nice=LAST_IN_LINE))
        for _ in range(bench.repeats):
            small = [await bench.dealer.open() for _ in range(SMALL_TABLES)]
            seat_agents(agents, hub.port, small)
            await _pace(bench, [(play, agents, at) for at, play in enumerate(small)])
            note(ALONE, agents.latencies())
            big = await bench.dealer.open()
            spectators.open(hub.port, SPECTATORS, f"/watch/{big.match_id}")
            spectators.settle()
            paced = [(play, agents, at) for at, play in enumerate(small)]
            await _pace(bench, [*paced, (big, spectators, 0)])
            note(BESIDE, agents.latencies())
            note("the big table's spectators", spectators.latencies())
            agents.close()
            spectators.close()
    return Report(
        f"Neighbours: {SMALL_TABLES} tables of four agents, one of {SPECTATORS} spectators,"
        f" {MOVES_PER_SECOND:.0f} moves a second each",
        (*medians.figures(), *p99s.figures()),
        (p99s.ratio(BESIDE, ALONE, LIMIT_P99), medians.ratio(BESIDE, ALONE)),
        ("Times from the commit's sending to the roll's last byte at each socket.",),
    )


def seat_agents(crowd: Crowd, port: int, plays: Sequence[Play]) -> None:
    """Open a socket for each agent; the sockets of one table are one group."""
    for group, play in enumerate(plays):
        for agent_id in play.agents:
            crowd.add(1, agent_path(play.match_id), group=group, headers=agent_headers(agent_id))
    crowd.start_opening(port)
    crowd.opened()
    crowd.settle()


def _bare(bench: Bench, exits: ExitStack, count: int) -> tuple[Program, Crowd]:
    bare = exits.enter_context(Program.python("bare", core=bench.server_core))
    crowd = exits.enter_context(bench.crowd(lazy=True))
    crowd.open(int(bare.read()), count, "/")
    return bare, crowd


async def move_each(bench: Bench, crowd: Crowd, plays: Sequence[Play]) -> list[int]:
    """Move every table once, many at a time; the bytes of each move."""

    async def move(group: int, play: Play) -> int:
        size = await bench.dealer.move(play)
        crowd.expect(group, size)
        return size

    sizes: list[int] = []
    for start in range(0, len(plays), AT_ONCE):
        some = enumerate(plays[start : start + AT_ONCE], start)
        sizes += await asyncio.gather(*(move(group, play) for group, play in some))
    return sizes


async def _pace(bench: Bench, tables: Sequence[tuple[Play, Crowd, int]]) -> None:
    """Move each table a few times a second, at times of its own."""

    async def run(play: Play, crowd: Crowd, group: int) -> None:
        started = time.monotonic() + random.random() / MOVES_PER_SECOND
        for number in range(int(SECONDS * MOVES_PER_SECOND)):
            planned = started + number / MOVES_PER_SECOND
            await asyncio.sleep(max(0.0, planned - time.monotonic()))
            move = play.next_move()
            crowd.expect(group, move.wire_bytes, time.monotonic_ns())
            await bench.dealer.commit(play, move)

    await asyncio.gather(*(run(*table) for table in tables))
    for crowd in {crowd for _, crowd, _ in tables}:
        crowd.wait()
