"""The terminal viewer: on a real terminal, in a pipe, and with what can go wrong."""

import asyncio
import fcntl
import os
import pty
import signal
import struct
import sys
import termios
import unicodedata
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from hub.app import Hub
from hub.viewer.address import read
from hub.viewer.screen import Screen
from hub.viewer.text import visible
from protocol.client import watch
from tests.clients import url
from tests.web.drivers import seat

HOSTILE = "\u202eevil\u2028name"
PATIENCE_SECONDS = 20.0


class Terminal:
    """A viewer on a pseudo-terminal; `seen` is all that it has written."""

    def __init__(self, process: Process, reader: asyncio.StreamReader, leader: int) -> None:
        self.process = process
        self.seen = ""
        self._reader = reader
        self._leader = leader

    async def until(self, text: str) -> None:
        """Read on until a text comes that has not been read before."""
        start = len(self.seen)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while text not in self.seen[start:]:
                self.seen += (await self._reader.read(65536)).decode(errors="replace")

    async def rest(self) -> int:
        """Read to the end; the exit code."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            waiting = asyncio.ensure_future(self.process.wait())
            while not waiting.done():
                reading = asyncio.ensure_future(self._reader.read(65536))
                await asyncio.wait({waiting, reading}, return_when=asyncio.FIRST_COMPLETED)
                if reading.done():
                    self.seen += reading.result().decode(errors="replace")
                else:
                    reading.cancel()
            return await waiting

    def resize(self, columns: int, lines: int) -> None:
        """Give the terminal another size, as a window manager does."""
        fcntl.ioctl(self._leader, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.process.send_signal(signal.SIGWINCH)


@asynccontextmanager
async def terminal(*arguments: str, columns: int = 120, lines: int = 40) -> AsyncIterator[Terminal]:
    """Start a viewer on a terminal of this size."""
    leader, follower = pty.openpty()
    fcntl.ioctl(leader, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "hub.viewer", *arguments),
        stdin=follower,
        stdout=follower,
        stderr=follower,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm-256color", "COLORTERM": "", "LANG": "C.UTF-8"},
    )
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(leader, "rb", 0)
    )
    try:
        yield Terminal(process, reader, leader)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        transport.close()
        os.close(follower)


async def run(*arguments: str) -> tuple[int, str, str]:
    """Run a viewer in a pipe to its end; its exit code, output and complaints."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "hub.viewer", *arguments), stdin=DEVNULL, stdout=PIPE, stderr=PIPE
    )
    async with asyncio.timeout(PATIENCE_SECONDS):
        output, complaints = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode(), complaints.decode()


async def rendered(hub: Hub, match_id: str, columns: int, lines: int) -> list[str]:
    """Draw a finished match as a terminal of this size would show it."""
    screen = Screen(match_id, now=lambda: 0.0)
    async for message in watch(url(hub, ""), match_id, after=0):
        screen.take(message)
    console = Console(width=columns, height=lines, force_terminal=False)
    with console.capture() as capture:
        console.print(screen)
    return capture.get().splitlines()


# ---- Text


@given(st.text())
def test_nothing_that_moves_hides_or_reorders_reaches_the_terminal(text: str) -> None:
    shown = visible(text)
    assert len(shown) == len(text)
    assert {unicodedata.category(each) for each in shown if each not in "\u200c\u200d"}.isdisjoint(
        {"Cc", "Cf", "Cs", "Zl", "Zp"}
    )


def test_what_is_harmless_stays_as_it_is() -> None:
    text = "Zoë 👩‍🚀 |[bold]| 東京"
    assert visible(text) == text


@pytest.mark.parametrize(
    ("given_url", "hub_url", "match_id"),
    [
        ("http://127.0.0.1:8765", "ws://127.0.0.1:8765", None),
        ("ws://hub.example:1", "ws://hub.example:1", None),
        ("https://hub.example", "wss://hub.example:443", None),
        ("hub.example:80", "ws://hub.example:80", None),
        ("http://[::1]:9/", "ws://[::1]:9", None),
        ("http://hub.example:9/#/match/abc/17", "ws://hub.example:9", "abc"),
        ("ws://hub.example:9/watch/abc?after=3", "ws://hub.example:9", "abc"),
        ("http://hub.example:9/api/matches/abc/events", "ws://hub.example:9", "abc"),
    ],
)
def test_addresses_are_read_as_people_paste_them(
    given_url: str, hub_url: str, match_id: str | None
) -> None:
    address = read(given_url)
    assert (address.url, address.match_id) == (hub_url, match_id)


@pytest.mark.parametrize("text", ["ftp://hub", "http://", "http://hub:port", "://"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        read(text)


# ---- Screen


@pytest.mark.parametrize(("columns", "lines"), [(120, 40), (80, 24), (60, 24)])
async def test_a_table_fits_the_terminal(hub: Hub, columns: int, lines: int) -> None:
    async with seat(url(hub, ""), names=["Ada", "🎲" * 32, "W" * 32, "Dee"]) as drivers:
        await drivers.finish()
    drawn = await rendered(hub, drivers.match_id, columns, lines)
    assert len(drawn) == lines
    assert max(map(len, drawn)) <= columns
    assert any("wins with $" in line for line in drawn)


async def test_a_live_table_is_shown_until_ctrl_c(hub: Hub) -> None:
    async with (
        seat(url(hub, "")) as drivers,
        terminal(url(hub, "", "http"), drivers.match_id) as shown,
    ):
        await shown.until("rolls 8 dice")
        await drivers.play(1)
        await shown.until("places")
        shown.process.send_signal(signal.SIGINT)
        assert await shown.rest() == 0
        assert "Traceback" not in shown.seen


async def test_the_number_of_spectators_is_shown(hub: Hub) -> None:
    async with (
        seat(url(hub, "")) as drivers,
        terminal(url(hub, "", "http"), drivers.match_id) as shown,
    ):
        await shown.until("1 watching")
        async with terminal(url(hub, "", "http"), drivers.match_id):
            await shown.until("2 watching")


async def test_a_table_survives_another_size_of_the_terminal(hub: Hub) -> None:
    async with (
        seat(url(hub, "")) as drivers,
        terminal(url(hub, "", "http"), drivers.match_id, columns=140) as shown,
    ):
        await shown.until("Table talk")
        shown.resize(60, 24)
        await drivers.play(1)
        await shown.until("turn 2")
        shown.resize(140, 50)
        await drivers.play(1)
        await shown.until("turn 3")
        await shown.until("Table talk")


async def test_a_result_stays_in_the_terminal(hub: Hub) -> None:
    async with (
        seat(url(hub, "")) as drivers,
        terminal(url(hub, "", "http"), drivers.match_id) as shown,
    ):
        await shown.until("rolls")
        await drivers.finish()
        assert await shown.rest() == 0
        left_screen = shown.seen.rpartition("\x1b[?1049l")[2]
        assert "wins with $" in left_screen


async def test_without_a_match_the_next_one_is_shown(hub: Hub) -> None:
    async with terminal(url(hub, "", "http")) as shown:
        await shown.until("No match is being played")
        async with seat(url(hub, "")):
            await shown.until("rolls 8 dice")


async def test_no_direction_of_writing_reaches_the_terminal(hub: Hub) -> None:
    async with (
        seat(url(hub, ""), names=[HOSTILE, "Bo", "Cy", "Dee"], talk=[HOSTILE]) as drivers,
        terminal(url(hub, "", "http"), drivers.match_id) as shown,
    ):
        await drivers.finish()
        assert await shown.rest() == 0
        assert "�evil�name" in shown.seen
        assert {"\u202e", "\u2028"}.isdisjoint(shown.seen)


# ---- Pipes


async def test_a_pipe_gets_a_line_an_event(hub: Hub) -> None:
    async with seat(url(hub, ""), talk=["Ties hurt."]) as drivers:
        await drivers.finish()
    code, output, complaints = await run(url(hub, "", "http"), drivers.match_id)
    lines = output.splitlines()
    assert (code, complaints) == (0, "")
    assert lines[0] == "   1  The match starts; the pot holds 40 HP."
    assert sum(" places " in line for line in lines) == drivers.placed
    assert sum(line.endswith(": Ties hurt.") for line in lines) == drivers.placed
    assert " wins with $" in lines[-1]
    assert "\x1b" not in output


async def test_a_pipe_whose_reader_has_gone_ends_it_quietly(hub: Hub) -> None:
    ours, theirs = os.pipe()
    async with seat(url(hub, "")) as drivers:
        arguments = ("-m", "hub.viewer", url(hub, "", "http"), drivers.match_id)
        process = await asyncio.create_subprocess_exec(
            sys.executable, *arguments, stdin=DEVNULL, stdout=theirs, stderr=PIPE
        )
        os.close(theirs)
        assert (await asyncio.to_thread(os.read, ours, 65536)).startswith(b"   1  ")
        os.close(ours)
        await drivers.play(1)
        async with asyncio.timeout(PATIENCE_SECONDS):
            _, complaints = await process.communicate()
    assert (process.returncode, complaints) == (0, b"")


async def test_a_link_to_a_match_is_enough(hub: Hub) -> None:
    async with seat(url(hub, "")) as drivers:
        await drivers.finish()
    code, output, _ = await run(url(hub, f"/#/match/{drivers.match_id}", "http"))
    assert code == 0
    assert " wins with $" in output


async def test_live_matches_are_listed(hub: Hub) -> None:
    async with seat(url(hub, "")) as drivers:
        code, output, _ = await run(url(hub, "", "http"), "--list")
    assert code == 0
    assert drivers.match_id in output


async def test_an_unknown_match_is_one_clear_line(hub: Hub) -> None:
    code, output, complaints = await run(url(hub, "", "http"), "nosuch")
    host, port = hub.address
    assert (code, output) == (1, "")
    assert complaints == (
        f"Error: There is no match 'nosuch' at {host}:{port}. --list shows those that are live.\n"
    )


async def test_an_unreachable_hub_is_one_clear_line() -> None:
    code, output, complaints = await run("http://127.0.0.1:1")
    assert (code, output) == (1, "")
    assert complaints == (
        "Error: No hub answers at 127.0.0.1:1 (Connection refused). "
        "Is it running? scripts/run starts one.\n"
    )
