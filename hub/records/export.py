"""Write a hub's finished matches to files: scripts/export.

Each log is fetched into a file of another name and moved to its own when it is whole. So a run
that was broken off is taken up by running it again, and what is there is not fetched again.
"""

import itertools
import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import click
import msgspec
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

ANSWER_LIMIT_SECONDS = 30.0
PAGE_LIMIT = 500  # matches listed at a time: the most that a hub lists

FORMATS = ("msgpack", "ndjson")  # of /api/matches/ID/events, and the files' endings


class Count(msgspec.Struct):
    """How many files were written, and how many were there."""

    written: int = 0
    there: int = 0


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("url", default="http://127.0.0.1:8765")
@click.option(
    "--to",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("matches"),
    show_default=True,
    help="The folder to write to; made if need be.",
)
@click.option(
    "--format",
    "formats",
    type=click.Choice(FORMATS),
    multiple=True,
    default=FORMATS,
    show_default=True,
    help="How to write each match; may be given twice.",
)
@click.option("--agent", help="Only matches in which this agent plays, by its id.")
@click.option("--limit", type=click.IntRange(min=1), help="How many matches; all by default.")
def main(
    url: str, folder: Path, formats: tuple[str, ...], agent: str | None, limit: int | None
) -> None:
    """Write the finished matches of the hub at URL to files, newest first.

    Run it again to go on after a break, or to add what has finished since.
    """
    count = Count()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        match_ids = itertools.islice(_finished(url.rstrip("/"), agent), limit)
        for match_id in _shown(match_ids, limit):
            for format in formats:
                _save(url.rstrip("/"), match_id, format, folder, count)
    except (OSError, HTTPException, ValueError) as error:
        raise click.ClickException(
            f"{_explain(error)} (after {count.written} files; run it again to go on)"
        ) from error
    except KeyboardInterrupt:
        click.echo("Stopped; run it again to go on.", err=True)
    click.echo(f"{count.written} files written to {folder}, {count.there} were there.")


def _shown(match_ids: Iterator[str], total: int | None) -> Iterator[str]:
    """Show on stderr how far the work on each has come."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield from progress.track(match_ids, total=total, description="matches")


def _finished(url: str, agent: str | None) -> Iterator[str]:
    query: dict[str, Any] = {"status": "finished", "limit": PAGE_LIMIT}
    if agent is not None:
        query["agent"] = agent
    while True:
        page = json.loads(_fetch(f"{url}/api/matches?{urlencode(query)}"))
        yield from (match["match_id"] for match in page["matches"])
        if page["next"] is None:
            return
        query["before"] = page["next"]


def _save(url: str, match_id: str, format: str, folder: Path, count: Count) -> None:
    path = folder / f"{match_id}.{format}"
    if path.exists():
        count.there += 1
        return
    part = path.with_suffix(path.suffix + ".part")
    part.write_bytes(_fetch(f"{url}/api/matches/{quote(match_id)}/events?format={format}"))
    os.replace(part, path)
    count.written += 1


def _fetch(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=ANSWER_LIMIT_SECONDS) as answer:
        data: bytes = answer.read()
    return data


def _explain(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        with error:
            return f"The hub answered {error.code} {error.reason} to {error.url}"
    if isinstance(error, urllib.error.URLError):
        return f"The hub can't be reached: {error.reason}"
    return str(error) or type(error).__name__


if __name__ == "__main__":
    main(prog_name="scripts/export")
