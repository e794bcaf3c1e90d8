"""Run hubs as processes of their own, each behind two proxies: to its clients, and to the store."""

import asyncio
import os
import re
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM
from typing import Self

from .proxy import Address, Line, Proxy, Watcher

ROOT = Path(__file__).parents[2]
ADDRESS = re.compile(rb"Claw Vegas is open at http://127\.0\.0\.1:(\d+)")
START_SECONDS = 60.0  # for a hub to say its address
AGAIN_SECONDS = 0.5  # between attempts to start a hub: it needs the store
POLL_SECONDS = 0.05  # between looks at whether it is ready
STOP_SECONDS = 10.0  # for a hub to stop by itself (DESIGN.md, Sockets)

Watch = Callable[[Line], Watcher | None]


class HubError(Exception):
    """A hub did not start; the message says where its log is."""


class HubProcess:
    """One hub: `python -m hub serve` on any port, its output in a file."""

    def __init__(self, number: int, options: Sequence[str], log: Path) -> None:
        self.number = number
        self.crashes: list[int] = []
        self.has_crashed = asyncio.Event()
        self._options = options
        self._log = log
        self._process: Process | None = None
        self._watching: asyncio.Task[None] | None = None
        self._is_expected_to_end = False
        self.port = 0

    async def start(self) -> None:
        """Start, and wait until it listens. Raises HubError."""
        self._is_expected_to_end = False
        self.has_crashed.clear()
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "hub", "serve", *self._options),
                cwd=ROOT,
                stdout=PIPE,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for us
            )
        self.port = await self._read_port(self._process)
        self._watching = asyncio.create_task(self._watch(self._process))

    async def is_ready(self) -> bool:
        """Ask the hub whether it can serve."""
        with suppress(OSError):
            async with asyncio.timeout(1):
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.write(b"GET /readyz HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n\r\n")
                status = await reader.readline()
                writer.close()
                return b" 200 " in status
        return False

    async def ready(self) -> None:
        """Wait until it can serve."""
        while not await self.is_ready():  # noqa: ASYNC110 - a process can only be asked
            await asyncio.sleep(POLL_SECONDS)

    @property
    def pid(self) -> int:
        """The number of the process, and of the group that it and its workers are."""
        assert self._process is not None
        return self._process.pid

    def signal(self, number: int) -> None:
        """Send a signal to the process alone."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def signal_all(self, number: int) -> None:
        """Send a signal to the process and its workers, as a terminal does at Ctrl-C."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def pause(self) -> None:
        """Stop it by SIGSTOP."""
        self.signal_all(SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        self.signal_all(SIGCONT)

    async def kill(self) -> None:
        """Kill it by SIGKILL."""
        self.signal_all(SIGKILL)
        await self.ended()

    async def terminate(self) -> int:
        """Ask it to stop by SIGTERM; its exit code, after it was killed if it took too long."""
        self.signal(SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                return await self.ended()
        await self.kill()
        return -SIGKILL

    async def ended(self) -> int:
        """Wait until it has ended, as it is meant to; its exit code."""
        assert self._process is not None
        self._is_expected_to_end = True
        return await self._process.wait()

    async def _watch(self, process: Process) -> None:
        code = await process.wait()
        if not self._is_expected_to_end:
            self.crashes.append(code)
            self.has_crashed.set()

    async def _read_port(self, process: Process) -> int:
        assert process.stdout is not None
        with suppress(TimeoutError):
            async with asyncio.timeout(START_SECONDS):
                while line := await process.stdout.readline():
                    if found := ADDRESS.search(line):
                        return int(found[1])
        raise HubError(f"hub {self.number} did not start: see {self._log}")


class Place:
    """A hub's place in a run: its process, its way to the store and its clients' way to it."""

    hub: HubProcess

    def __init__(self, number: int, store: Address, watch: Watch) -> None:
        self.number = number
        self.busy = asyncio.Lock()  # held while something is being done to the hub
        self.link = Proxy(store)
        self.door = Proxy(("127.0.0.1", 0), watch)

    @property
    def url(self) -> str:
        """Where clients find the hub; the same after each start."""
        return f"ws://127.0.0.1:{self.door.port}"

    @asynccontextmanager
    async def open(self, options: Sequence[str], log: Path) -> AsyncIterator[Self]:
        """Run a hub here. Raises HubError."""
        async with self.link, self.door:
            redis_url = f"redis://127.0.0.1:{self.link.port}/0"
            self.hub = HubProcess(self.number, ("--redis", redis_url, *options), log)
            revival: asyncio.Task[None] | None = None
            try:
                await self.start()
                revival = asyncio.create_task(self._revive())
                yield self
            finally:
                if revival is not None:
                    revival.cancel()
                self.hub.resume()
                await self.hub.kill()

    async def start(self) -> None:
        """Start the hub, and wait until it listens. Raises HubError."""
        await self.hub.start()
        self.door.target = ("127.0.0.1", self.hub.port)

    async def restart(self) -> None:
        """Start the hub, and again if it does not: it needs the store."""
        while True:
            try:
                return await self.start()
            except HubError:
                await asyncio.sleep(AGAIN_SECONDS)

    async def _revive(self) -> None:
        """Start a hub again that has ended by itself, as whoever runs hubs would."""
        while True:
            await self.hub.has_crashed.wait()
            async with self.busy:
                if self.hub.has_crashed.is_set():
                    await self.restart()
