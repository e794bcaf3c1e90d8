"""Load hubs from the command line: scripts/loadtest."""

import secrets
import sys
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.live import Live

from hub.settings import Settings, default_data_dir, environment_secret
from hub.tokens import SECRET_FILE, SecretError, load_secret

from . import crew, page
from .expect import NAMES, BadExpectation, Expectation, parse
from .load import Load
from .outcome import Outcome, conclude
from .timeline import Timeline
from .view import LiveView, results, verdicts

CLIENTS_PER_PROCESS = 1000
PROCESSES_LIMIT = 64

MEANING = (
    "Latencies are of the time after the ramp."
    " Roll to receipt: from a roll's commit to its receipt by the bot whose turn it is."
    " Action to ack: from when a bot meant to send its placement to the hub's ack."
    " Commit to spectator: from a placement's commit to its receipt by a spectator that reads as"
    " fast as it can. Commits are timed by the store's clock in whole ms, compared with ours by"
    " the hubs' welcomes: trust the first and the third only to 1 ms, and only where hubs, store"
    " and generator are one machine or keep one time. The bots' two are corrected for coordinated"
    " omission: a bot that waited longer than its turns are apart counts for those it missed, too."
)


def _expectations(
    _ctx: click.Context, _param: click.Parameter, text: str | None
) -> tuple[Expectation, ...]:
    try:
        return parse(text) if text else ()
    except BadExpectation as error:
        raise click.BadParameter(f"{error}.") from error


def _urls(_ctx: click.Context, _param: click.Parameter, urls: tuple[str, ...]) -> tuple[str, ...]:
    for url in urls:
        if not url.startswith(("ws://", "wss://")):
            raise click.BadParameter(f"{url!r} is not like ws://HOST:PORT or wss://HOST.")
    return tuple(url.rstrip("/") for url in urls)


@click.command(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=f"Figures for --expect: {', '.join(NAMES)}. p99_ms is that of the slowest kind.",
)
@click.option(
    "--url",
    "urls",
    multiple=True,
    callback=_urls,
    default=("ws://127.0.0.1:8765",),
    help="A hub; may be given several times.",
)
@click.option("--bots", type=click.IntRange(0), default=40, help="Agents that play free matches.")
@click.option("--spectators", type=click.IntRange(0), default=100, help="Sockets that watch them.")
@click.option(
    "--ramp", "ramp_s", type=click.FloatRange(0), default=5.0, help="Seconds over which they come."
)
@click.option(
    "--duration", "duration_s", type=click.FloatRange(1), default=30.0, help="Seconds after that."
)
@click.option(
    "--think",
    "think_s",
    type=click.FloatRange(0),
    default=1.0,
    help="Mean seconds of a bot's thinking.",
)
@click.option(
    "--slow",
    "slow_share",
    type=click.FloatRange(0, 1),
    default=0.0,
    help="Share of spectators that read too slowly.",
)
@click.option(
    "--reconnects",
    "reconnect_share",
    type=click.FloatRange(0, 1),
    default=0.0,
    help="Share of clients that lose their connection every 5 to 15 s and resume.",
)
@click.option(
    "--processes",
    type=click.IntRange(1, PROCESSES_LIMIT),
    help=f"By default one for each {CLIENTS_PER_PROCESS} clients.",
)
@click.option(
    "--secret-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The secret of the hubs' tokens; or set VEGAS_SECRET.",
)
@click.option(
    "--data-dir",
    envvar="VEGAS_DATA_DIR",
    show_envvar=True,
    type=click.Path(file_okay=False, path_type=Path),
    default=default_data_dir,
    help="Where a hub on this machine keeps its secret.",
)
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the outcome to a file.",
)
@click.option(
    "--report",
    "report_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a page with charts.",
)
@click.option(
    "--expect",
    "expectations",
    callback=_expectations,
    metavar="LIST",
    help='Like "p99_ms<50,gaps=0": exit 1 if that does not hold.',
)
def main(
    *,
    processes: int | None,
    secret_file: Path | None,
    data_dir: Path,
    json_file: Path | None,
    report_file: Path | None,
    expectations: tuple[Expectation, ...],
    **chosen: object,
) -> None:
    """Let bots play real matches, and spectators watch them, on the hubs at --url.

    The hubs must have the same secret as this program, which signs the bots' tokens. Matches are
    free: no HP moves, and the leaderboard does not change.
    """
    load = msgspec.convert({**chosen, "run_id": secrets.token_hex(3), "secret": b""}, Load)
    load = msgspec.structs.replace(load, secret=_secret(secret_file, data_dir))
    clients = load.bots + load.spectators
    processes = processes or min(PROCESSES_LIMIT, -(-max(clients, 1) // CLIENTS_PER_PROCESS))
    try:
        timeline = _run(load, processes)
    except crew.WorkerDied as error:
        raise click.ClickException(f"{error}; see above.") from error
    outcome = conclude(load, timeline)
    _save(outcome, timeline, json_file, report_file)
    sys.exit(_conclude(outcome, expectations))


def _run(load: Load, processes: int) -> Timeline:
    view = LiveView(load)
    with Live(console=Console(stderr=True), auto_refresh=False, transient=True) as live:
        return crew.run(
            load, processes, lambda so_far: live.update(view.render(so_far), refresh=True)
        )


def _save(
    outcome: Outcome, timeline: Timeline, json_file: Path | None, report_file: Path | None
) -> None:
    if json_file is not None:
        json_file.write_bytes(msgspec.json.format(msgspec.json.encode(outcome)) + b"\n")
    if report_file is not None:
        report_file.write_text(page.render(outcome, timeline, MEANING))


def _conclude(outcome: Outcome, expectations: tuple[Expectation, ...]) -> int:
    """Show the outcome; the exit code."""
    console = Console()
    for table in results(outcome):
        console.print(table)
    console.print(MEANING, style="dim")
    if outcome.generator.limits:
        console.print(
            f"The generator was the limit, not the hub: {outcome.generator.limits}."
            " Spread it over more --processes or machines, or ask less of it.",
            style="bold yellow",
        )
    if not expectations:
        return 0
    table, all_hold = verdicts(outcome, expectations)
    console.print(table)
    return 0 if all_hold else 1


def _secret(secret_file: Path | None, data_dir: Path) -> bytes:
    """Find the secret that the hubs have, and make none."""
    text = secret_file.read_text().strip() if secret_file is not None else environment_secret()
    if text is None and not (data_dir / SECRET_FILE).exists():
        raise click.ClickException(
            f"There is no secret in {data_dir}:"
            " name --data-dir or --secret-file, or set VEGAS_SECRET."
        )
    try:
        return load_secret(Settings(data_dir=data_dir, secret=text))
    except SecretError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main(prog_name="scripts/loadtest")
