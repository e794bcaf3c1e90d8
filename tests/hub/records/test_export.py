import asyncio
import os
from pathlib import Path

from click.testing import CliRunner, Result

from hub.app import Hub
from hub.records.export import main
from hub.records.recording import read
from hub.rules.audit import audit
from tests.clients import play_match, url


async def export(hub: Hub, folder: Path, *options: str) -> Result:
    arguments = [url(hub, "", "http"), "--to", str(folder), *options]
    return await asyncio.to_thread(CliRunner().invoke, main, arguments)


async def play(hub: Hub, count: int) -> list[str]:
    match_ids = [(await play_match(hub))[0]["match_id"] for _ in range(count)]
    for match_id in match_ids:
        await hub.clock.book(match_id)
    return match_ids


async def test_each_match_becomes_a_file_in_both_formats(hub: Hub, tmp_path: Path) -> None:
    (match_id,) = await play(hub, 1)
    assert (await export(hub, tmp_path / "out")).exit_code == 0
    packed = read(str(tmp_path / "out" / f"{match_id}.msgpack"))
    assert read(str(tmp_path / "out" / f"{match_id}.ndjson")) == packed
    assert audit(packed)


async def test_a_second_run_fetches_only_what_is_missing(hub: Hub, tmp_path: Path) -> None:
    match_ids = await play(hub, 2)
    folder = tmp_path / "out"
    await export(hub, folder, "--limit", "1", "--format", "msgpack")
    again = await export(hub, folder, "--format", "msgpack")
    assert f"1 files written to {folder}, 1 were there." in again.output
    names = set(os.listdir(folder))
    assert names == {f"{match_id}.msgpack" for match_id in match_ids}


async def test_an_agent_selects(hub: Hub, tmp_path: Path) -> None:
    await play(hub, 1)
    result = await export(hub, tmp_path, "--agent", "nobody")
    assert f"0 files written to {tmp_path}" in result.output


def test_a_hub_that_can_t_be_reached_is_a_clear_line(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["http://127.0.0.1:1", "--to", str(tmp_path)])
    assert result.exit_code == 1
    assert "The hub can't be reached" in result.stderr
