"""Measure what spectators that never read, or read slowly, do to the others and to the hub."""

import asyncio
import time
from contextlib import ExitStack
from typing import NamedTuple

from hub.settings import KIB, Settings
from hub.sockets.spectator import BEHIND_SECONDS
from protocol.messages import TALK_LIMIT_CHARS

from .bench import Bench
from .crowd import Crowd
from .dealer import SEATS, Play
from .figures import Report, Series, p99
from .hub import HubProcess
from .slow_readers import Seen, SlowReaders

QUICK, SLOW, NEVER = 1750, 200, 50
MOVES_PER_SECOND = 20  # of 1,150 bytes: about twice what slow ones read
WINDOWS = 15  # by when slow readers have fallen behind and caught up
WINDOW_SECONDS = 5.0
TALK = "\N{GAME DIE}" * TALK_LIMIT_CHARS  # as long as can be, so that buffers fill soon
LIMIT_BYTES = Settings().spectator_outbox_bytes
FILL_BYTES = 2 * LIMIT_BYTES  # more than that and the kernel's buffers
WARM_UP = 100  # moves before memory is counted: what a first use allocates is not a reader's
LIMIT_P99 = 1.5
LIMIT_CLOSED_SECONDS = BEHIND_SECONDS + 8.0  # the kernel's buffers fill in about five
MIB = KIB * KIB


class Side(NamedTuple):
    """A hub with a table, and the spectators there that are timed."""

    name: str
    hub: HubProcess
    crowd: Crowd
    play: Play


class Course:
    """One run over time: two tables in turn, on two hubs that share the server's core."""

    def __init__(self, bench: Bench, alone: Side, beside: Side) -> None:
        self._bench = bench
        self._sides = (alone, beside)
        self._order = [alone, beside]
        self._beside = beside
        self._files = beside.hub.open_files()
        self._sent_bytes = 0
        self._full_at = self._closed_at = 0.0
        self.medians, self.p99s = Series("ms, median"), Series("ms, p99")
        self.cpu = Series("ms of CPU a move")
        self.rss = {side.name: [side.hub.rss_bytes()] for side in self._sides}
        self.closed = 0

    @property
    def closed_seconds(self) -> float:
        """How long after the moves that fill an outbox the last reader was closed; 0: none was."""
        return self._closed_at - self._full_at if self._closed_at else 0.0

    async def run(self, windows: int, seconds: float, moves_per_second: int) -> None:
        """Take a sample of each figure in each window."""
        moves = round(moves_per_second * min(1.0, seconds))
        steps = max(1, round(seconds))
        for _ in range(windows):
            before = [side.hub.cpu_seconds() for side in self._sides]
            for _ in range(steps):
                await self._pace(moves, moves_per_second)
                self._look()
            for side, cpu in zip(self._sides, before, strict=True):
                side.crowd.wait()
                self.cpu.add(side.name, (side.hub.cpu_seconds() - cpu) * 1000 / (steps * moves))
                self._note(side, side.crowd.latencies())
                side.crowd.settle(50)

    def _note(self, side: Side, latencies: list[float]) -> None:
        self.medians.add(side.name, sorted(latencies)[len(latencies) // 2] * 1000)
        self.p99s.add(side.name, p99(latencies) * 1000)

    async def _pace(self, moves: int, moves_per_second: int) -> None:
        """Move one table and, half an interval later, the other.

        They take turns at being the first, as that is slower after a pause.
        """
        self._order.reverse()
        started = time.monotonic()
        for number in range(len(self._sides) * moves):
            planned = started + number / len(self._sides) / moves_per_second
            await asyncio.sleep(max(0.0, planned - time.monotonic()))
            await self._move(self._order[number % len(self._order)])

    async def _move(self, side: Side) -> None:
        move = side.play.next_move()
        side.crowd.expect(0, move.wire_bytes, time.monotonic_ns())
        await self._bench.dealer.commit(side.play, move)
        if side is self._beside:
            self._sent_bytes += move.wire_bytes
            if self._sent_bytes > LIMIT_BYTES and not self._full_at:
                self._full_at = time.monotonic()

    def _look(self) -> None:
        for side in self._sides:
            self.rss[side.name].append(side.hub.rss_bytes())
        closed = self._files - self._beside.hub.open_files()
        if closed > self.closed:
            self.closed, self._closed_at = closed, time.monotonic()


async def slow(
    bench: Bench,
    *,
    quick: int = QUICK,
    readers: tuple[int, int] = (NEVER, SLOW),
    windows: int = WINDOWS,
    seconds: float = WINDOW_SECONDS,
    moves_per_second: int = MOVES_PER_SECOND,
) -> Report:
    """Time a table's spectators with slow ones among them, and those of a table without."""
    never, slowly = readers
    await bench.clear()
    filled = Series("KiB of the hub's memory")
    filled.add("a never-reader that is full", await _fill(bench, never))
    rounds = int(windows * seconds * moves_per_second) // SEATS + SEATS
    with ExitStack() as exits:
        alone = await _open(bench, exits, f"{quick} readers alone", quick, rounds)
        beside = await _open(bench, exits, "beside slow ones", quick, rounds)
        path = f"/watch/{beside.play.match_id}"
        crawling = exits.enter_context(
            SlowReaders.start(bench.other_core, beside.hub.port, path, never=never, slow=slowly)
        )
        for side in (alone, beside):
            side.crowd.settle()
        course = Course(bench, alone, beside)
        await course.run(windows, seconds, moves_per_second)
        seen = crawling.seen()
    return _report(course, (alone.name, beside.name), filled, seen, readers)


async def _open(bench: Bench, exits: ExitStack, name: str, quick: int, rounds: int) -> Side:
    hub, crowd = exits.enter_context(bench.hub()), exits.enter_context(bench.crowd())
    play = await bench.dealer.open(rounds, TALK)
    crowd.open(hub.port, quick, f"/watch/{play.match_id}")
    return Side(name, hub, crowd, play)


async def _fill(bench: Bench, never: int) -> float:
    """Let readers that never read fall behind, on a hub of their own; KiB of memory for each."""
    with bench.hub() as hub, bench.crowd() as crowd:
        play = await bench.dealer.open(WARM_UP, TALK)
        path = f"/watch/{play.match_id}"
        crowd.open(hub.port, 1, path)
        for _ in range(WARM_UP):
            await bench.dealer.move(play)
        with SlowReaders.start(bench.other_core, hub.port, path, never=never):
            crowd.settle()
            before, sent = hub.rss_bytes(), 0
            while sent < FILL_BYTES:
                sent += await bench.dealer.move(play)
            crowd.settle()
            return (hub.rss_bytes() - before) / KIB / never


def _report(
    course: Course, names: tuple[str, str], filled: Series, seen: Seen, readers: tuple[int, int]
) -> Report:
    alone, beside = names
    never, slowly = readers
    checks, memory = Series("s after 256 KiB"), Series("MiB of the hub's memory")
    if course.closed_seconds:
        checks.add("the last never-reader closed", course.closed_seconds)
    faults = Series("faults")
    faults.add("slow readers' streams", seen.lost + seen.closed)
    for name in names:
        rss = [each / MIB for each in course.rss[name]]
        for when, value in (("start", rss[0]), ("peak", max(rss)), ("end", rss[-1])):
            memory.add(f"{name}, {when}", value)
    steps = max(1, (len(course.rss[beside]) - 1) // WINDOWS)
    over_time = ", ".join(f"{each / MIB:.1f}" for each in course.rss[beside][::steps])
    return Report(
        f"Slow: one table, {never} spectators that never read, {slowly} that read slowly",
        (
            *course.medians.figures(),
            *course.p99s.figures(),
            *course.cpu.figures(),
            *memory.figures(),
            *filled.figures(),
        ),
        (
            course.p99s.ratio(beside, alone, LIMIT_P99),
            course.cpu.ratio(beside, alone),
            faults.against("slow readers' streams", 0.0),
            *(checks.against(name.name, LIMIT_CLOSED_SECONDS) for name in checks.figures()),
        ),
        (
            "Two hubs share a core and are moved in turn; a sample is a window of the one run.",
            f"{course.closed - seen.closed} of {never} never-readers were closed.",
            f"{seen.resumed} of {slowly} slow readers were spared {seen.spared} events in all, and"
            " went on with the event after their snapshot.",
            f"Memory beside slow ones over time, in MiB: {over_time}.",
        ),
    )
