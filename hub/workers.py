"""Run several hub processes on one port, from one parent.

The kernel spreads new connections over the workers (SO_REUSEPORT). The parent holds the port and
the bundled Valkey for all of them, starts a worker again that has died, and passes signals on.
"""

import multiprocessing
import signal
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from types import FrameType

import msgspec
import structlog

from hub.settings import Settings
from hub.store.embedded import EmbeddedValkey

RESTART_SECONDS = (0.1, 5.0)  # the first wait and the longest before a worker is started again
SETTLED_SECONDS = 10.0  # a worker that lived this long starts again without a longer wait
WATCH_SECONDS = 0.5  # between looks at the clock while nothing happens

# What a worker runs; it calls back once it listens. It must be importable: workers are spawned.
RunWorker = Callable[[Settings, Connection], None]

_log = structlog.get_logger()


class _Worker:
    """One place for a worker, and the process that fills it now."""

    def __init__(self, number: int, settings: Settings, run: RunWorker) -> None:
        self.number = number
        self._settings = settings
        self._run = run
        self._wait_seconds, self._longest_seconds = RESTART_SECONDS
        self.has_listened = False
        self.start()

    def start(self) -> None:
        """Start a process."""
        context = multiprocessing.get_context("spawn")
        self._listens, theirs = context.Pipe(duplex=False)
        self.process: SpawnProcess = context.Process(
            target=self._run, args=(self._settings, theirs), name=f"hub-worker-{self.number}"
        )
        self.process.start()
        self._signals_sent = 0
        theirs.close()
        self._started_at = time.monotonic()
        self.start_at: float | None = None

    def stop(self, signals: int) -> None:
        """Pass on what the process has yet to hear of so many signals."""
        while self.process.is_alive() and self._signals_sent < signals:
            self._signals_sent += 1
            self.process.terminate()

    def died(self) -> None:
        """Plan the next start."""
        if time.monotonic() - self._started_at > SETTLED_SECONDS:
            self._wait_seconds, _ = RESTART_SECONDS
        self.start_at = time.monotonic() + self._wait_seconds
        self._wait_seconds = min(self._wait_seconds * 2, self._longest_seconds)
        _log.warning("worker_died", worker=self.number, exit_code=self.process.exitcode)

    @property
    def failed_to_start(self) -> bool:
        """Tell whether the first process ended before it listened."""
        return self.start_at is not None and not self.has_listened

    def check_listening(self) -> None:
        """Note whether the process has said that it listens."""
        if not self.has_listened and self._listens.poll():
            with suppress(EOFError):  # it has ended without a word
                self.has_listened = self._listens.recv()


class Crew:
    """The workers of one hub, until a signal ends them."""

    def __init__(self, settings: Settings, run: RunWorker) -> None:
        self._signals = 0
        self._workers: list[_Worker] = []
        for signal_number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signal_number, self._pass_on)
        for number in range(settings.workers):
            self._workers.append(_Worker(number, _settings_of(settings, number), run))

    def watch(self, on_listening: Callable[[], None]) -> int:
        """Keep the workers running until told to stop; the exit code.

        `on_listening` is called once when all of them listen. If one can't even start, all stop.
        """
        announced = False
        while not self._signals:
            self._look()
            if not announced and all(worker.has_listened for worker in self._workers):
                announced = True
                on_listening()
            if any(worker.failed_to_start for worker in self._workers):
                self._end_all()
                return 1
        self._end_all()
        return 0

    def _look(self) -> None:
        alive = [worker.process.sentinel for worker in self._workers if worker.start_at is None]
        wait(alive, timeout=WATCH_SECONDS if alive else RESTART_SECONDS[0])
        if self._signals:
            return
        for worker in self._workers:
            worker.check_listening()
            if worker.start_at is None and not worker.process.is_alive():
                worker.died()
            elif worker.start_at is not None and time.monotonic() >= worker.start_at:
                worker.start()

    def _end_all(self) -> None:
        if not self._signals:
            self._pass_on(signal.SIGTERM, None)
        for worker in self._workers:
            worker.stop(self._signals)  # it may have been starting when the signal came
        for worker in self._workers:
            worker.process.join()

    def _pass_on(self, _number: int, _frame: FrameType | None) -> None:
        self._signals += 1
        for worker in self._workers:
            worker.stop(self._signals)


def run_crew(settings: Settings, run: RunWorker, announce: Callable[[str, int], None]) -> int:
    """Run `settings.workers` workers until told to stop; the exit code.

    `announce` gets the address when all listen. Raises OSError or EmbeddedValkeyError.
    """
    with ExitStack() as exits:
        port = exits.enter_context(_hold_port(settings)).getsockname()[1]
        if settings.redis_url is None:
            exits.enter_context(EmbeddedValkey(settings.data_dir))
        crew = Crew(msgspec.structs.replace(settings, port=port), run)
        return crew.watch(lambda: announce(settings.host, port))


def _hold_port(settings: Settings) -> socket.socket:
    """Bind the port without listening, so that it stays ours, and port 0 is the same for all."""
    family, kind, _, _, address = socket.getaddrinfo(
        settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    holder = socket.socket(family, kind)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        holder.bind(address)
    except OSError:
        holder.close()
        raise
    return holder


def _settings_of(settings: Settings, number: int) -> Settings:
    """Give each worker a metrics port of its own, and the first one the house bots."""
    metrics_port = settings.metrics_port
    return msgspec.structs.replace(
        settings,
        house_bots=settings.house_bots if number == 0 else 0,
        metrics_port=metrics_port + number if metrics_port else metrics_port,
    )
