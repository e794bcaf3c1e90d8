"""Keep all that a run has seen in its folder, so that what went wrong can be looked into.

logs/ID.msgpack    each match's log, for scripts/verify
lines.ndjson       each socket: who, to which hub, and what came when
moves.ndjson       each move as its bot knows it
faults.ndjson      what was done, and when
troubles.ndjson    what was wrong
plan.json, verdict.json, report.txt
hubs/              the hubs' own logs
store/             the store's log; and its data, if something was wrong
"""

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from .plan import Plan
from .report import report
from .verdict import Outcome, Verdict
from .witness import Record

WIDTH = 120  # of report.txt


def keep(
    plan: Plan, outcome: Outcome, verdict: Verdict, lines: Sequence[Record], seconds: float
) -> None:
    """Write everything."""
    folder = plan.folder
    _write_logs(folder / "logs", outcome)
    _write_lines(folder / "lines.ndjson", lines)
    _write_lines(folder / "moves.ndjson", outcome.moves)
    _write_lines(folder / "faults.ndjson", outcome.faults)
    _write_lines(folder / "troubles.ndjson", verdict.troubles)
    _write_lines(folder / "plan.json", [plan])
    _write_lines(folder / "verdict.json", [verdict])
    with (folder / "report.txt").open("w") as file:
        report(plan, verdict, seconds, Console(file=file, width=WIDTH))
    if verdict.is_good:
        shutil.rmtree(folder / "store" / "appendonlydir", ignore_errors=True)


def _write_logs(folder: Path, outcome: Outcome) -> None:
    folder.mkdir(exist_ok=True)
    for match_id, log in outcome.logs.items():
        (folder / f"{match_id}.msgpack").write_bytes(b"".join(log))


def _write_lines(path: Path, values: Iterable[Any]) -> None:
    path.write_bytes(b"".join(_encode(value) + b"\n" for value in values))


_encode = msgspec.json.Encoder(enc_hook=str).encode  # paths as text
