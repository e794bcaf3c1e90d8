"""Measure the hub beside its floors from the command line: scripts/bench."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import click
import structlog
from rich.console import Console

from .bench import Bench, open_bench
from .fanout import fanout
from .figures import Report
from .growth import growth
from .moves import moves
from .peer import PEERS
from .plot import draw
from .saturation import saturation
from .slow import slow
from .sockets import sockets
from .storm import storm
from .table import markdown, save_json, show
from .tables import neighbours, tables

FILE = click.Path(dir_okay=False, path_type=Path)

BENCHES: dict[str, Callable[[Bench], Awaitable[Report]]] = {
    "fanout": fanout,
    "tables": tables,
    "neighbours": neighbours,
    "moves": moves,
    "saturation": saturation,
    "sockets": sockets,
    "storm": storm,
    "slow": slow,
    "growth": growth,
}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", metavar="NAME...", nargs=-1, type=click.Choice([*BENCHES, "all"]))
@click.option("--repeats", type=click.IntRange(1), default=3, help="How often each is measured.")
@click.option("--json", "json_file", type=FILE, help="Write all samples to a file.")
@click.option("--markdown", "markdown_file", type=FILE, help="Write the tables to a file.")
@click.option("--plot", "plot_file", type=FILE, help="Draw the curves of growth as SVG.")
@click.option(
    "--peers",
    type=click.Choice([*PEERS, "all"]),
    multiple=True,
    help="Compare fanout with this server, too, installed in a scratch folder; or several.",
)
@click.option(
    "--fsync", is_flag=True, help="Let the store wait for the disk before it answers, as hubs do."
)
def main(
    *,
    names: tuple[str, ...],
    repeats: int,
    json_file: Path | None,
    markdown_file: Path | None,
    plot_file: Path | None,
    peers: tuple[str, ...],
    fsync: bool,
) -> None:
    """Measure the hub beside its floors, side by side in one run.

    \b
    fanout      a table's spectators: CPU per delivery, beside C's send() and bare websockets
    tables      1,000 tables of four agents, beside websockets' send()
    neighbours  small tables' p99, with and without a table of 5,000 spectators
    moves       a move's latency across two hubs, beside one EVALSHA and one echo
    saturation  moves per CPU second, beside echoes
    sockets     memory and connecting CPU of 10,000 idle spectators
    storm       5,000 clients that come at once
    slow        a table's spectators beside some that never read or read slowly; memory
    growth      curves of cost against spectators, tables, sockets, hubs, length of a match
    all         everything

    The server that is measured runs on the first core, everything else on the last. Ratios count,
    not microseconds. If the machine has other work, `chrt -r 1 scripts/bench ...` keeps it out.
    """
    chosen = tuple(BENCHES) if "all" in names else names
    others = tuple(PEERS) if "all" in peers else peers
    reports = asyncio.run(_run(chosen, repeats, others, fsync=fsync))
    if json_file is not None:
        save_json(reports, json_file)
    if markdown_file is not None:
        markdown_file.write_text(markdown(reports))
    if plot_file is not None:
        plot_file.write_text(draw([curve for report in reports for curve in report.curves]))


async def _run(
    names: Sequence[str], repeats: int, peers: Sequence[str], *, fsync: bool
) -> list[Report]:
    console = Console()
    reports = []
    for name in names:
        async with open_bench(repeats, fsync=fsync, peers=peers) as bench:
            report = await BENCHES[name](bench)
        show(report, console)
        reports.append(report)
    return reports


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("warning"))
    main(prog_name="scripts/bench")
