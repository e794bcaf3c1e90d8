"""Run it from the command line: scripts/chaos."""

import asyncio
import logging
import secrets
import signal
import sys
import time
from pathlib import Path
from typing import Any

import click
import structlog
import uvloop
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from .arena import Arena
from .hubs import ROOT, HubError
from .plan import KINDS, Plan
from .report import report
from .run import Result, run

SHARE = click.FloatRange(0, 1)
COUNT = click.IntRange(min=1)
SEED_BITS = 32


@click.command(
    context_settings={
        "help_option_names": ["-h", "--help"],
        "show_default": True,
        "max_content_width": 100,
    }
)
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), help="How long to go on.")
@click.option("--faults", type=click.IntRange(min=0), help="How many faults to make; 0 is none.")
@click.option("--matches", type=COUNT, help="How many matches to play.")
@click.option("--quiet", is_flag=True, help="Make no faults: only play and check.")
@click.option("--only", "kinds", type=click.Choice(KINDS), multiple=True, help="Make these faults.")
@click.option("--pause", "pause_seconds", default=3.0, help="The mean seconds from fault to fault.")
@click.option("--seed", type=int, help="What all that is random comes from.")
@click.option("--hubs", type=COUNT, default=3, help="How many hubs to run.")
@click.option("--workers", type=COUNT, default=1, help="How many processes each hub runs.")
@click.option("--bots", type=click.IntRange(min=4), default=40, help="How many bots play.")
@click.option("--spectators", type=click.IntRange(min=0), default=40, help="How many watch.")
@click.option("--turn-seconds", default=30.0, help="How long a bot may think.")
@click.option("--away-seconds", default=2.0, help="How long a bot may think that let turns pass.")
@click.option("--think-ms", default=100.0, help="How long a bot thinks on average.")
@click.option("--silent", type=SHARE, default=0.05, help="The part of the bots that never place.")
@click.option("--json", type=SHARE, default=0.25, help="The part of the sockets that speak JSON.")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where to keep the evidence; a new folder below var/chaos by default.",
)
def main(seed: int | None, folder: Path | None, *, quiet: bool, **chosen: Any) -> None:
    """Play on several hubs while breaking them and their store, and check that nothing is lost.

    It ends after so many minutes, faults or matches, whichever comes first; by default after two
    minutes. Ctrl-C ends it at once, and it still reports. The exit code is 1 if anything is wrong.
    """
    seed = secrets.randbits(SEED_BITS) if seed is None else seed
    folder = folder or ROOT / "var" / "chaos" / time.strftime(f"%Y%m%d-%H%M%S-{seed}")
    if quiet or chosen["faults"] == 0:
        chosen.update(kinds=(), faults=None)
    elif not chosen["kinds"]:
        chosen["kinds"] = KINDS
    if not (chosen["minutes"] or chosen["faults"] or chosen["matches"]):
        chosen["minutes"] = 2.0
    plan = Plan(seed=seed, folder=folder.resolve(), **chosen)
    plan.folder.mkdir(parents=True, exist_ok=True)
    _keep_logs(plan.folder / "clients.log")
    console = Console()
    console.print(f"Seed {seed}. Evidence: {plan.folder}")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            result = runner.run(_run(plan, console))
        except asyncio.CancelledError:
            sys.exit("Given up.")
        except HubError as error:
            raise click.ClickException(str(error)) from error
    report(plan, result.verdict, result.seconds, console)
    sys.exit(not result.verdict.is_good)


async def _run(plan: Plan, console: Console) -> Result:
    stop = _listen_for_signals()
    bar = Progress(
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[state]}"),
        console=console,
    )
    with bar:
        task = bar.add_task("", total=1.0, state="starting")
        return await run(plan, stop, lambda arena, share: _show(bar, task, arena, share))


def _keep_logs(path: Path) -> None:
    """Send what the clients and our own link to the store say to a file."""
    logging.basicConfig(filename=path, format="%(asctime)s %(message)s")
    structlog.configure(logger_factory=structlog.WriteLoggerFactory(path.open("a")))


def _listen_for_signals() -> asyncio.Event:
    """End the run at the first signal, and give it up at the second."""
    stop = asyncio.Event()
    task = asyncio.current_task()
    assert task is not None

    def tell() -> None:
        if stop.is_set():
            task.cancel()
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, tell)
    return stop


def _show(bar: Progress, task: TaskID, arena: Arena, share: float) -> None:
    faults, matches = len(arena.faults.done), len(arena.live.finished)
    state = f"{faults} faults, {matches} matches, {len(arena.witness.troubles.found)} wrong"
    bar.update(task, completed=share, state=state if share < 1 else "ending")


main(prog_name="scripts/chaos")
