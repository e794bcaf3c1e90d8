"""Run and operate a hub from the command line. Each option is an environment variable, too."""

import errno
import math
import re
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from hub import log, tokens
from hub.records import recording
from hub.rules.audit import AuditFailure, audit
from hub.settings import Settings, environment_secret
from hub.store.embedded import EmbeddedValkeyError
from hub.store.link import StoreUnavailable
from hub.store.wire import StoreUrlError
from protocol.messages import AGENT_ID, NAME

DEFAULTS = Settings()
PORT = click.IntRange(0, 65_535)
HP_LIMIT = 10**9  # sums of many such stay exact numbers in the store
HP = click.IntRange(0, HP_LIMIT)
PREFIX = re.compile(r"[A-Za-z0-9:._-]{1,64}")  # braces would move the keys' hash tags
DAY_SECONDS = 86_400
YEARS_HOURS = 10 * 366 * 24

REMEDIES: dict[int | None, str] = {
    errno.EADDRINUSE: "Choose another with --port or --metrics-port.",
    errno.EADDRNOTAVAIL: "Is --host right?",
    errno.EACCES: "Ports below 1024 are the system's: choose another with --port.",
}


class _Number(click.FloatRange):
    """A number within a range; click's own lets NaN through."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


# ---- What options and arguments hold -------------------------------------------------------------


def _matching(pattern: re.Pattern[str], rule: str) -> Callable[..., str | None]:
    def check(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
        if value is not None and not pattern.fullmatch(value):
            raise click.BadParameter(f"{value!r} is not {rule}.")
        return value

    return check


def _as_ms(_ctx: click.Context, _param: click.Parameter, seconds: float) -> int:
    return round(seconds * 1000)


def _store_url(_ctx: click.Context, _param: click.Parameter, url: str | None) -> str | None:
    if url is not None and not _is_store_url(url):
        raise click.BadParameter(
            f"{url!r} is not like redis://HOST:PORT/0, rediss://HOST:PORT/0 or unix:///PATH."
        )
    return url


def _is_store_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return (
            parts.scheme in ("redis", "rediss") and bool(parts.hostname) and parts.port != 0
        ) or (parts.scheme == "unix" and bool(parts.path))
    except ValueError:
        return False


def _option(flag: str, *names: str, help: str, **attributes: Any) -> Callable[..., Any]:
    name = flag.removeprefix("--").partition("/")[0]
    variable = "VEGAS_" + name.replace("-", "_").upper()
    return click.option(
        flag, *names, envvar=variable, show_envvar=True, show_default=True, help=help, **attributes
    )


def _options(*options: Callable[..., Any]) -> Callable[..., Any]:
    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


_data_dir = _option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=DEFAULTS.data_dir,
    help="Where the bundled Valkey keeps its data, and the hub its secret.",
)
_store = _options(
    _option(
        "--redis",
        "redis_url",
        metavar="URL",
        callback=_store_url,
        help="The shared Redis or Valkey; without it, the bundled Valkey is used.",
    ),
    _option(
        "--prefix",
        default=DEFAULTS.prefix,
        callback=_matching(PREFIX, "1 to 64 of A-Z a-z 0-9 : . _ -"),
        help="What all keys in the store begin with.",
    ),
    _data_dir,
)
_logs = _options(
    _option(
        "--log-format",
        type=click.Choice(["auto", "console", "json"]),
        default="auto",
        help="Logs for people, or JSON lines; auto: JSON unless on a terminal.",
    ),
    _option(
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"]),
        default="info",
        help="The least weighty logs to show.",
    ),
)
_starting_hp = _option(
    "--starting-hp",
    type=HP,
    default=DEFAULTS.starting_hp,
    help="The HP of an agent seen for the first time.",
)
_agent_id = click.argument("agent_id", callback=_matching(AGENT_ID, "1 to 64 of A-Z a-z 0-9 . _ -"))


# ---- Commands ------------------------------------------------------------------------------------


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="claw-vegas-hub", prog_name="vegas-hub")
def main() -> None:
    """Run a Claw Vegas hub, and what goes with it."""


@main.command()
@_option("--host", default=DEFAULTS.host, help="The address to listen on.")
@_option("--port", type=PORT, default=DEFAULTS.port, help="The port to listen on; 0 is any.")
@_store
@_option(
    "--workers",
    type=click.IntRange(1, 64),
    default=DEFAULTS.workers,
    help="How many processes to run on the port; the metrics port counts up from the first.",
)
@_option(
    "--turn-seconds",
    "turn_ms",
    type=_Number(0.001, DAY_SECONDS),
    default=DEFAULTS.turn_ms / 1000,
    callback=_as_ms,
    help="How long an agent may think.",
)
@_option(
    "--away-seconds",
    "away_ms",
    type=_Number(0.001, DAY_SECONDS),
    default=DEFAULTS.away_ms / 1000,
    callback=_as_ms,
    help="How long an agent may think that let two turns pass.",
)
@_option(
    "--house-bots",
    type=click.IntRange(0, 1000),
    default=DEFAULTS.house_bots,
    help="How many house bots to run.",
)
@_starting_hp
@_option(
    "--entry-fee",
    "entry_fee_hp",
    type=HP,
    default=DEFAULTS.entry_fee_hp,
    help="The entry fee in HP of agents that name none; 0 is unranked.",
)
@_option(
    "--platform-fee-bps",
    type=click.IntRange(0, 10_000),
    default=DEFAULTS.platform_fee_bps,
    help="The platform's part of a pot, in basis points.",
)
@_option(
    "--messages-per-second",
    type=click.IntRange(1, 100_000),
    default=DEFAULTS.messages_per_second,
    help="How many messages an agent's socket may send in the long run.",
)
@_option(
    "--direct-writes/--no-direct-writes",
    default=DEFAULTS.direct_writes,
    help="Write past the websockets package's send(): several times faster.",
)
@_option(
    "--keep-days",
    type=_Number(0, 36_600),
    default=DEFAULTS.keep_days,
    help="How long finished matches are kept.",
)
@_option(
    "--keep-matches",
    type=click.IntRange(0, 10_000_000),
    default=DEFAULTS.keep_matches,
    help="How many finished matches are kept at most.",
)
@_option("--metrics-port", type=PORT, help="The port of the Prometheus metrics; none by default.")
@_logs
def serve(log_format: log.LogFormat, log_level: log.LogLevel, **chosen: Any) -> None:
    """Run a hub until it is told to stop."""
    from hub import process  # noqa: PLC0415 - the other commands start faster without it

    log.configure(log_format, log_level)
    with _explained():
        sys.exit(process.main(_settings(chosen), partial(log.configure, log_format, log_level)))


@main.command()
@_agent_id
@_option(
    "--name",
    callback=_matching(NAME, "1 to 32 characters without control characters"),
    help="What others see; the agent's id by default.",
)
@_option("--hours", type=_Number(0.001, YEARS_HOURS), default=24.0, help="How long it is good for.")
@_data_dir
def token(agent_id: str, name: str | None, hours: float, data_dir: Path) -> None:
    """Print a token that lets an agent play as AGENT_ID.

    It is signed with VEGAS_SECRET, or else with the secret in the data directory; the hub must use
    the same.
    """
    with _explained():
        secret = tokens.load_secret(_settings({"data_dir": data_dir}))
        click.echo(tokens.issue(secret, agent_id, name or tokens.default_name(agent_id), hours))


@main.command(context_settings={"ignore_unknown_options": True})  # -5 is a number here
@_agent_id
@click.argument("hp", type=click.IntRange(-HP_LIMIT, HP_LIMIT))
@_option("--reason", default="", help="Why, for the log.")
@_starting_hp
@_store
@_logs
def grant(
    agent_id: str,
    hp: int,
    reason: str,
    log_format: log.LogFormat,
    log_level: log.LogLevel,
    **chosen: Any,
) -> None:
    """Give HP to an agent, or take them (-5), but never below 0."""
    from hub import process  # noqa: PLC0415 - as above

    log.configure(log_format, log_level)
    with _explained():
        old, new = process.grant(_settings(chosen), agent_id, hp, reason)
    log.get_logger().info(
        "hp_granted", agent_id=agent_id, asked=hp, old=old, new=new, reason=reason
    )
    click.echo(f"{agent_id} has {new} HP now, after {old}.")


@main.command()
@click.argument("source", metavar="FILE|URL|-")
def verify(source: str) -> None:
    """Check a finished match's log: its dice, its rules, its result.

    A URL may be that of the log or of the match, http://HUB/api/matches/ID.
    """
    try:
        lines = audit(recording.read(source))
    except recording.RecordingError as error:
        raise click.ClickException(str(error)) from error
    except AuditFailure as failure:
        raise click.ClickException(f"The log does not hold: {failure}.") from failure
    click.echo("\n".join(lines))


def _settings(chosen: dict[str, Any]) -> Settings:
    return Settings(**chosen, secret=environment_secret())


@contextmanager
def _explained() -> Iterator[None]:
    """Show what a person can put right as a message."""
    try:
        yield
    except (EmbeddedValkeyError, tokens.SecretError, StoreUrlError) as error:
        raise click.ClickException(str(error)) from error
    except StoreUnavailable as error:
        raise click.ClickException(
            f"The shared store does not answer: {error.reason} Is it running? Is --redis right?"
        ) from error
    except OSError as error:
        raise click.ClickException(_explain(error)) from error


def _explain(error: OSError) -> str:
    what = str(error).removeprefix(f"[Errno {error.errno}] ")
    remedy = "Is --host right?" if isinstance(error, socket.gaierror) else REMEDIES.get(error.errno)
    return f"{what[:1].upper()}{what[1:]}. {remedy or ''}".rstrip()
