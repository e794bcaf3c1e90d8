"""Run a load in several processes, and put together what they say."""

import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

import msgspec

from .load import Load
from .tally import Second
from .timeline import Timeline
from .worker import work

START_S = 1.0  # for the processes to start before the ramp begins
END_S = 5.0  # for a process to end by itself

_second = msgspec.msgpack.Decoder(Second).decode


class WorkerDied(Exception):
    """A process of the generator has failed; it has said why on stderr."""


def run(load: Load, processes: int, show: Callable[[Timeline], None]) -> Timeline:
    """Run a load to its end, or until Ctrl-C; `show` is called with what is known each second.

    Raises WorkerDied.
    """
    timeline = Timeline(load.ramp_s, processes)
    with _started(load, processes) as reports:
        try:
            for second in _read(reports):
                timeline.add(second)
                show(timeline)
        except KeyboardInterrupt:
            pass
    return timeline


@contextmanager
def _started(load: Load, processes: int) -> Iterator[list[Connection]]:
    context = multiprocessing.get_context("spawn")
    begin = time.monotonic() + START_S
    children: list[SpawnProcess] = []
    reports: list[Connection] = []
    for part in load.split(processes):
        ours, theirs = context.Pipe(duplex=False)
        child = context.Process(target=work, args=(part, begin, theirs), daemon=True)
        child.start()
        theirs.close()
        children.append(child)
        reports.append(ours)
    try:
        yield reports
    finally:
        for report in reports:
            report.close()
        for child in children:
            child.join(END_S)
            child.kill()
            child.join()
    if any(child.exitcode for child in children):
        raise WorkerDied("a process of the generator has failed")


def _read(reports: list[Connection]) -> Iterator[Second]:
    """Yield what the processes say, until all have ended."""
    open_reports = list(reports)
    while open_reports:
        for report in wait(open_reports):
            assert isinstance(report, Connection)
            try:
                yield _second(report.recv_bytes())
            except EOFError:
                open_reports.remove(report)
