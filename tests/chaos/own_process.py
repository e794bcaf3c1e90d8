"""Run a hub in a process of its own, with settings that the command line does not have."""

import asyncio
import gc
import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec
import uvloop

from hub import log
from hub.app import Hub
from hub.settings import Settings
from tests.clients import SECRET

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Weight(msgspec.Struct, frozen=True):
    """What a hub's memory holds: Python objects, and bytes in all."""

    objects: int
    resident_bytes: int


class OwnProcess:
    """A hub's process: where it listens, what it weighs; it can be stopped for a while."""

    def __init__(self, pid: int, pipe: Connection) -> None:
        self._pid = pid
        self._pipe = pipe
        self.address: tuple[str, int] = pipe.recv()

    def weigh(self) -> Weight:
        """Look at what its memory holds once garbage is collected."""
        self._pipe.send(None)
        weight: Weight = self._pipe.recv()
        return weight

    def pause(self) -> None:
        os.kill(self._pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self._pid, signal.SIGCONT)


@contextmanager
def own_process(settings: Settings, redis_url: str) -> Iterator[OwnProcess]:
    """Run a hub until the block ends."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(settings, redis_url, theirs))
    process.start()
    try:
        assert process.pid is not None
        yield OwnProcess(process.pid, ours)
    finally:
        process.kill()
        process.join()


def _serve(settings: Settings, redis_url: str, pipe: Connection) -> None:
    log.configure("json", "error")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner, suppress(KeyboardInterrupt):
        runner.run(_run(settings, redis_url, pipe))


async def _run(settings: Settings, redis_url: str, pipe: Connection) -> None:
    hub = Hub(settings, redis_url, SECRET)
    await hub.start()
    asyncio.get_running_loop().add_reader(pipe.fileno(), _weigh, pipe)
    pipe.send(hub.address)
    await hub.failed()


def _weigh(pipe: Connection) -> None:
    pipe.recv()
    gc.unfreeze()
    gc.collect()
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES
    pipe.send(Weight(len(gc.get_objects()), resident))
