"""Each bench runs, small, on a real hub, and measures what it says."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from scripts._bench import __main__ as command
from scripts._bench.bench import Bench, open_bench
from scripts._bench.fanout import fanout
from scripts._bench.figures import Figure, Report
from scripts._bench.saturation import saturation
from scripts._bench.slow import slow
from scripts._bench.sockets import sockets
from scripts._bench.tables import tables


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    async with open_bench(1, fsync=False) as bench:
        yield bench


async def test_fanout_compares_the_hub_with_its_floors(bench: Bench) -> None:
    report = await fanout(bench, spectators=3, moves=2)
    assert [figure.name for figure in report.figures] == [
        "hub, one at a time",
        "C send(), one at a time",
        "websockets write, one at a time",
        "websockets broadcast, one at a time",
        "hub, back to back",
        "hub, a queue of moves",
        "C send(), back to back",
        "websockets write, back to back",
        "websockets broadcast, back to back",
        "hub, one spectator, one at a time",
        "hub, one spectator, back to back",
    ]
    assert all(figure.median > 0 for figure in report.figures)


async def test_tables_delivers_to_agents(bench: Bench) -> None:
    report = await tables(bench, count=2)
    assert [figure.name for figure in report.figures] == ["hub, to agents", "websockets send()"]


async def test_saturation_counts_moves_and_echoes_without_an_error(bench: Bench) -> None:
    report = await saturation(bench, tables=2)
    assert all(figure.median > 0 for figure in report.figures)
    assert report.notes == ()


async def test_sockets_opens_as_many_as_it_says(bench: Bench) -> None:
    report = await sockets(bench, idle=20, most=600)
    assert report.notes == (
        "600 sockets on one hub: all were opened, and the newest got their move.",
    )


async def test_slow_times_a_table_with_slow_readers_and_one_without(bench: Bench) -> None:
    report = await slow(bench, quick=3, readers=(1, 1), windows=1, seconds=0.5, moves_per_second=40)
    names = [figure.name for figure in report.figures]
    assert names[:6] == 3 * ["3 readers alone", "beside slow ones"]
    assert all(figure.median > 0 for figure in report.figures[:-1])
    assert report.ratios[-1].samples == (0.0,)
    assert report.notes[1] == "0 of 1 never-readers were closed."


def test_reports_are_written_as_json_and_markdown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def tiny(_bench: Bench) -> Report:
        return Report("Tiny", (Figure("hub", "us", (1.0, 2.0, 3.0)),))

    monkeypatch.setitem(command.BENCHES, "fanout", tiny)
    paths = tmp_path / "bench.json", tmp_path / "bench.md"
    arguments = ["fanout", "--json", str(paths[0]), "--markdown", str(paths[1])]
    result = CliRunner().invoke(command.main, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    assert json.loads(paths[0].read_bytes())["reports"][0]["figures"][0]["samples"] == [1, 2, 3]
    assert "### Tiny" in paths[1].read_text()
