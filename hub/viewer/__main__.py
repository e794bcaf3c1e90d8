"""Watch a hub's tables in a terminal."""

import asyncio
import logging
import os
import sys
from collections.abc import Coroutine
from typing import Any

import click
from rich.console import Console

from protocol.client import ClientError

from . import address, follow

_UNTIL_CTRL_C = 0  # the exit code: it is how one leaves


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("url", default=address.DEFAULT_URL)
@click.argument("match", required=False)
@click.option("--plain", is_flag=True, help="Print lines; so it is when the output is no terminal.")
@click.option("--list", "lists", is_flag=True, help="List the live matches and stop.")
def main(url: str, match: str | None, plain: bool, lists: bool) -> None:
    """Watch MATCH at the hub at URL, or one live match after the other.

    URL is like http://HOST:PORT (by default that of scripts/run), or a match's own link.
    """
    try:
        hub = address.read(url)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="URL") from error
    console = Console(highlight=False, markup=False, emoji=False)
    is_plain = plain or not console.is_terminal
    match_id = match or hub.match_id
    work = _choose(hub, match_id, console, plain=is_plain, lists=lists)
    try:
        asyncio.run(_watch(hub, match_id, work))
    except (address.Unreachable, ClientError) as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        sys.exit(_UNTIL_CTRL_C)
    except BrokenPipeError:
        _leave_pipe()


def _choose(
    hub: address.Address, match_id: str | None, console: Console, *, plain: bool, lists: bool
) -> Coroutine[Any, Any, None]:
    if lists:
        return follow.list_live(hub.url, console)
    if not plain:
        if match_id:
            return follow.show_match(hub.url, match_id, console)
        return follow.show_floor(hub.url, console)
    logging.getLogger("protocol.client.stream").addHandler(follow.ConnectionLog(_complain))
    if match_id:
        return follow.print_match(hub.url, match_id, _print)
    return follow.print_floor(hub.url, _print)


async def _watch(
    hub: address.Address, match_id: str | None, work: Coroutine[Any, Any, None]
) -> None:
    try:
        await address.probe(hub, match_id)
    except BaseException:
        work.close()
        raise
    await work


def _print(line: str) -> None:
    print(line, flush=True)


def _complain(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _leave_pipe() -> None:
    """Stop quietly when the reader of a pipe has gone; Python would complain as it flushes."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main(prog_name="scripts/watch")
