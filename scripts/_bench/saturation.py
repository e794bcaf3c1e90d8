"""Measure how many moves a hub's core makes, beside how many echoes the bare package does."""

from contextlib import ExitStack, closing

from .bench import Bench
from .dealer import SEATS
from .figures import Report, Series
from .players import LiveTable, Players
from .process import Program

TABLES = 200
MOVES_PER_TABLE = 40  # of about a hundred
ECHO_SECONDS = 3.0
ACTION_BYTES = 150
LEAST_MOVES_PER_ECHO = 0.15

MOVES, ECHOES = "hub, moves", "websockets, echoes"


async def saturation(bench: Bench, tables: int = TABLES) -> Report:
    """Let many tables play without a thought on one hub, and echo on as many sockets."""
    series, pace = Series("per second of the server's CPU"), Series("moves a second")
    errors: list[str] = []
    with ExitStack() as exits:
        hub = exits.enter_context(bench.hub())
        bare = exits.enter_context(Program.python("bare", core=bench.server_core))
        crowd = exits.enter_context(bench.crowd())
        crowd.open(int(bare.read()), tables * SEATS, "/")
        for _ in range(bench.repeats):
            live = [LiveTable(await bench.dealer.open(), [hub.port]) for _ in range(tables)]
            with closing(Players(live)) as players:
                players.settle(0.1)
                before = hub.cpu_seconds()
                moves = players.moves
                took = players.play(tables * MOVES_PER_TABLE)
                moves = players.moves - moves
                series.add(MOVES, moves / (hub.cpu_seconds() - before))
                pace.add("hub, moves by the clock", moves / took)
                errors += players.errors
            for table in live:
                table.close()
            before = bare.cpu_seconds()
            echoes = crowd.echo(ECHO_SECONDS, ACTION_BYTES)
            series.add(ECHOES, echoes / (bare.cpu_seconds() - before))
    return Report(
        f"Saturation: {tables} tables of four agents on one hub",
        (*series.figures(), *pace.figures()),
        (series.ratio(MOVES, ECHOES, LEAST_MOVES_PER_ECHO, at_least=True),),
        tuple(f"Errors: {errors}" for _ in errors[:1]),
    )
