"""Measure how a move's cost grows: with spectators, tables, hubs, sockets and a match's length."""

from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, closing
from typing import Literal

from .bench import Bench
from .crowd import Crowd
from .dealer import SEATS
from .figures import Curve, Report, Series
from .hub import HubProcess
from .players import LiveTable, Players
from .tables import move_each, seat_agents

SPECTATORS = (1, 10, 100, 1_000, 10_000)
TABLES = (1, 10, 100, 1_000, 2_000)
HUBS = (1, 2, 3, 4)
IDLE = (1, 100, 1_000, 10_000)
QUARTERS = 4
QUARTER_MOVES = 20  # of a match's hundred
MATCHES = 8
MOVES = 200  # for one point, where one move costs little
BIG_MOVES = 10  # for one point, where it costs much
BIG = 1_000
HUB_TABLES = 50
HUB_MOVES = 20
MICRO = 1e6

Point = tuple[float, float]
Measure = Callable[[Bench], AsyncIterator[Point]]


async def growth(bench: Bench) -> Report:
    """Take all curves, each point several times, one round of points after the other."""
    curves = (
        await _curve(bench, "spectators of a table", "us a delivery", "flat", _spectators),
        await _curve(bench, "tables of a hub", "us a move", "flat", _tables),
        await _curve(bench, "idle sockets elsewhere", "us a move", "flat", _idle),
        await _curve(bench, "hubs that share each table", "us a move, all hubs", "linear", _hubs),
        await _curve(bench, "quarter of the match", "us a move", "flat", _quarters),
    )
    return Report(
        "Growth: hub CPU against numbers",
        tuple(figure for curve in curves for _, figure in curve.points),
        notes=("'1,000 tables of a hub: us a move' reads: at 1,000 tables a move costs that.",),
        curves=curves,
    )


async def _curve(
    bench: Bench, of: str, unit: str, design: Literal["flat", "linear"], measure: Measure
) -> Curve:
    series = Series(unit)
    numbers: dict[float, str] = {}
    for _ in range(bench.repeats):
        async for number, cost in measure(bench):
            numbers[number] = f"{number:,.0f} {of}"
            series.add(numbers[number], cost)
    figures = series.figures()
    return Curve(of, unit, design, tuple(zip(numbers, figures, strict=True)))


async def _spectators(bench: Bench) -> AsyncIterator[Point]:
    """Deliver one move at a time to one table."""
    await bench.clear()
    with bench.hub() as hub, bench.crowd(lazy=True) as crowd:
        for number in SPECTATORS:
            yield number, await _watched(bench, hub, crowd, number) / number


async def _idle(bench: Bench) -> AsyncIterator[Point]:
    """Deliver moves to ten spectators, while others watch a table where nothing happens."""
    await bench.clear()
    with bench.hub() as hub, bench.crowd(lazy=True) as crowd, bench.crowd(lazy=True) as idlers:
        quiet, there = await bench.dealer.open(), 0
        for number in IDLE:
            idlers.open(hub.port, number - there, f"/watch/{quiet.match_id}")
            idlers.settle()
            there = number
            yield number, await _watched(bench, hub, crowd, 10)


async def _watched(bench: Bench, hub: HubProcess, crowd: Crowd, spectators: int) -> float:
    """Play a while at a table with spectators; the cost of a move."""
    moves = MOVES if spectators < BIG else BIG_MOVES
    play = await bench.dealer.open(rounds=moves // SEATS)
    crowd.open(hub.port, spectators, f"/watch/{play.match_id}")
    crowd.settle()
    before = hub.cpu_seconds()
    for _ in range(moves):
        crowd.expect(0, await bench.dealer.move(play))
        crowd.wait()
    spent = hub.cpu_seconds() - before
    crowd.close()
    return spent * MICRO / moves


async def _tables(bench: Bench) -> AsyncIterator[Point]:
    """Deliver moves to four agents at each of many tables, a few tables moving at a time."""
    for number in TABLES:
        await bench.clear()
        with bench.hub() as hub, bench.crowd(lazy=True) as crowd:
            plays = [await bench.dealer.open() for _ in range(number)]
            seat_agents(crowd, hub.port, plays)
            rounds = max(1, min(MOVES // number, MOVES // SEATS))
            before = hub.cpu_seconds()
            for _ in range(rounds):
                await move_each(bench, crowd, plays)
                crowd.wait()
            yield number, (hub.cpu_seconds() - before) * MICRO / (number * rounds)


async def _hubs(bench: Bench) -> AsyncIterator[Point]:
    """Play tables whose seats are spread over the hubs, through the hubs, one round at a time."""
    for number in HUBS:
        await bench.clear()
        with ExitStack() as exits:
            hubs = [exits.enter_context(bench.hub()) for _ in range(number)]
            ports = [hub.port for hub in hubs]
            live = [LiveTable(await bench.dealer.open(), ports) for _ in range(HUB_TABLES)]
            with closing(Players(live)) as players:
                players.settle(0.1)
                before = sum(hub.cpu_seconds() for hub in hubs)
                moves = players.moves
                players.play(HUB_TABLES * HUB_MOVES)
                moves = players.moves - moves
                spent = sum(hub.cpu_seconds() for hub in hubs) - before
            for table in live:
                table.close()
            yield number, spent * MICRO / moves


async def _quarters(bench: Bench) -> AsyncIterator[Point]:
    """Play several whole matches side by side, and look at each quarter by itself."""
    await bench.clear()
    with bench.hub() as hub, bench.crowd(lazy=True) as crowd:
        plays = [await bench.dealer.open() for _ in range(MATCHES)]
        seat_agents(crowd, hub.port, plays)
        for quarter in range(1, QUARTERS + 1):
            before = hub.cpu_seconds()
            for _ in range(QUARTER_MOVES):
                await move_each(bench, crowd, plays)
                crowd.wait()
            spent = hub.cpu_seconds() - before
            yield quarter, spent * MICRO / (QUARTER_MOVES * MATCHES)
