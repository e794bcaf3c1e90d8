"""Measure the hub beside its floors from the command line: scripts/bench."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import click
from rich.console import Console

from .bench import Bench, open_bench
from .fanout import fanout
from .figures import Report
from .growth import growth
from .moves import moves
from .plot import draw
from .saturation import saturation
from .sockets import sockets
from .storm import storm
from .table import markdown, save_json, show
from .tables import neighbours, tables

BENCHES: dict[str, Callable[[Bench], Awaitable[Report]]] = {
    "fanout": fanout,
    "tables": tables,
    "neighbours": neighbours,
    "moves": moves,
    "saturation": saturation,
    "sockets": sockets,
    "storm": storm,
    "growth": growth,
}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", metavar="NAME...", nargs=-1, type=click.Choice([*BENCHES, "all"]))
@click.option("--repeats", type=click.IntRange(1), default=3, show_default=True)
@click.option("--json", "json_file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--markdown", "markdown_file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--plot", "plot_file", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--fsync/--no-fsync", help="Whether the store waits for the disk, as it does by default."
)
def main(
    *,
    names: tuple[str, ...],
    repeats: int,
    json_file: Path | None,
    markdown_file: Path | None,
    plot_file: Path | None,
    fsync: bool,
) -> None:
    chosen = list(BENCHES) if "all" in names else list(names)
    reports = asyncio.run(_run(chosen, repeats, fsync))
    if json_file is not None:
        save_json(reports, json_file)
    if markdown_file is not None:
        markdown_file.write_text(markdown(reports))
    if plot_file is not None:
        plot_file.write_text(draw([curve for report in reports for curve in report.curves]))


async def _run(names: list[str], repeats: int, fsync: bool) -> list[Report]:
    console = Console()
    reports = []
    for name in names:
        async with open_bench(repeats, fsync=fsync) as bench:
            report = await BENCHES[name](bench)
        show(report, console)
        reports.append(report)
    return reports


if __name__ == "__main__":
    main(prog_name="scripts/bench")
