"""Run programs on a core of their own, talk to them line by line and read what they cost."""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

ROOT = Path(__file__).resolve().parents[2]
_PER_PROCESS_CPU_CLOCK = 2  # CPUCLOCK_SCHED of the kernel's clock ids: user and system time, in ns
STOP_SECONDS = 20.0


def cores() -> tuple[int, int]:
    """Choose a core for the server that is measured, and one for everything else."""
    available = sorted(os.sched_getaffinity(0))
    return available[0], available[-1]


def raise_file_limit() -> int:
    """Allow as many open files as this machine lets a process have; how many that is."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def stand_back() -> None:
    """Let this thread run only where nothing else wants to.

    So what generates a load holds up none of the servers that share its core.
    """
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


class Program:
    """A child process, pinned to a core, that answers lines on stdin by lines on stdout.

    `nice` is how far it stands back behind others on the same core.
    """

    def __init__(
        self,
        command: Sequence[str],
        core: int,
        *,
        nice: int = 0,
        environment: dict[str, str] | None = None,
    ) -> None:
        self._core = core
        self._nice = nice
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)} | (environment or {}),
            preexec_fn=self._pin,  # noqa: PLW1509 - before it starts threads, which inherit it
        )
        self.pid = self._process.pid

    @classmethod
    def python(cls, module: str, *arguments: str, core: int, nice: int = 0) -> Self:
        """Run a module of this package."""
        return cls([sys.executable, "-m", f"scripts._bench.{module}", *arguments], core, nice=nice)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def tell(self, *lines: str) -> None:
        """Send lines."""
        assert self._process.stdin is not None
        self._process.stdin.write("".join(f"{line}\n" for line in lines))
        self._process.stdin.flush()

    def read(self) -> str:
        """Read a line. Raises EOFError if the program has ended."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise EOFError(f"{self._process.args!r} has ended")
        return line.rstrip("\n")

    def ask(self, *lines: str) -> str:
        """Send lines and read the answer."""
        self.tell(*lines)
        return self.read()

    def cpu_seconds(self) -> float:
        """Read the user and system time that all its threads have used."""
        return time.clock_gettime(~self.pid << 3 | _PER_PROCESS_CPU_CLOCK)

    def rss_bytes(self) -> int:
        """Read how much memory it holds."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * resource.getpagesize()

    def open_files(self) -> int:
        """Count its open files, sockets among them."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def stop(self) -> None:
        """End it, gently first."""
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def kill(self) -> None:
        """End it without warning."""
        self._process.kill()

    def _pin(self) -> None:
        os.sched_setaffinity(0, {self._core})
        os.nice(self._nice)
        if os.sched_getscheduler(0) == os.SCHED_OTHER:
            # It is not to interrupt another that shares its core, such as the store, in the middle
            # of an answer: with a core each, none could.
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
