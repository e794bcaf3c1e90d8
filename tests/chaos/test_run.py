"""The script as a whole: its exit code, what it prints and what it keeps."""

import asyncio
import json
import subprocess
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from signal import SIGINT

from hub.records.recording import read
from hub.rules.audit import audit
from scripts._chaos.hubs import ROOT
from tests.store.parts import until

SMALL = ("--hubs", "1", "--bots", "4", "--spectators", "2", "--silent", "0", "--think-ms", "0")
HANG_SECONDS = 60

KEPT = {
    *("clients.log", "faults.ndjson", "hubs", "lines.ndjson", "logs", "moves.ndjson", "plan.json"),
    *("report.txt", "store", "troubles.ndjson", "verdict.json"),
}


def command(folder: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "scripts._chaos", "--folder", str(folder), *SMALL, *options]


def test_a_run_without_faults_ends_well_and_keeps_its_evidence(tmp_path: Path) -> None:
    done = subprocess.run(
        command(tmp_path, "--quiet", "--matches", "2", "--seed", "5"),
        check=True,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
    )
    assert "Seed 5." in done.stdout
    assert "Nothing is wrong." in done.stdout
    assert {path.name for path in tmp_path.iterdir()} == KEPT
    logs = list((tmp_path / "logs").iterdir())
    assert len(logs) >= 2
    for log in logs:
        assert audit(read(str(log)))


async def test_ctrl_c_ends_a_run_that_still_reports(tmp_path: Path) -> None:
    run = await asyncio.create_subprocess_exec(
        *command(tmp_path, "--quiet", "--minutes", "60"), cwd=ROOT, stdout=PIPE
    )
    await until(lambda: plays(tmp_path))
    run.send_signal(SIGINT)
    output, _ = await run.communicate()
    assert (run.returncode, b"Nothing is wrong." in output) == (0, True)
    assert json.loads((tmp_path / "verdict.json").read_text())["troubles"] == []


def plays(folder: Path) -> bool:
    """Tell whether a match has started."""
    log = folder / "hubs" / "hub-0.log"
    return log.exists() and b"match_started" in log.read_bytes()
