"""Run one process's part of a load and say what it saw, second by second."""

import asyncio
import itertools
import time
from multiprocessing.connection import Connection

import msgspec

from .bot import Bot
from .client import Client, Meter
from .load import Load
from .spectator import Lobby, Spectator
from .tally import Second, Strain, Tally

WATCH_S = 0.05  # between looks at how late the loop is


def work(load: Load, started: float, reports: Connection) -> None:
    """Run until the load is over or the other end of `reports` is closed.

    `started` is when the ramp begins, by the monotonic clock, which all processes share.
    """
    try:
        with asyncio.Runner() as runner:
            runner.run(_Worker(load, started, reports).run())
    except (KeyboardInterrupt, BrokenPipeError):
        pass


class _Worker:
    def __init__(self, load: Load, started: float, reports: Connection) -> None:
        self._load = load
        self._started = started
        self._reports = reports
        self._meter = Meter(load)
        self._lag_us = 0

    async def run(self) -> None:
        lobby = Lobby(self._meter, self._load.urls[0])
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._bring(self._clients(lobby))),
                group.create_task(self._watch()),
            ]
            if self._load.spectators:
                tasks.append(group.create_task(lobby.run()))
            await self._report()
            for task in tasks:
                task.cancel()

    def _clients(self, lobby: Lobby) -> list[Client]:
        """Make all clients: the bots first, so that there is something to watch."""
        load, urls = self._load, itertools.cycle(self._load.urls)
        bots = [
            Bot(
                self._meter,
                next(urls),
                load.first_bot + at,
                loses=_chosen(at, load.reconnect_share),
            )
            for at in range(load.bots)
        ]
        spectators = [
            Spectator(
                self._meter,
                next(urls),
                lobby,
                loses=_chosen(at, load.reconnect_share),
                slow=_chosen(load.spectators - 1 - at, load.slow_share),
            )
            for at in range(load.spectators)
        ]
        return [*bots, *spectators]

    async def _bring(self, clients: list[Client]) -> None:
        async with asyncio.TaskGroup() as group:
            for at, client in enumerate(clients):
                due = self._started + self._load.ramp_s * at / len(clients)
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                group.create_task(client.run())

    async def _watch(self) -> None:
        """Measure how late the loop comes to what is due."""
        while True:
            due = time.monotonic() + WATCH_S
            await asyncio.sleep(WATCH_S)
            self._lag_us = max(self._lag_us, round((time.monotonic() - due) * 1e6))

    async def _report(self) -> None:
        load, cpu = self._load, time.process_time()
        for number in range(round(load.ramp_s + load.duration_s)):
            self._meter.measuring = number >= load.ramp_s
            begun = time.monotonic()
            await asyncio.sleep(max(0.0, self._started + number + 1 - begun))
            now_cpu, took = time.process_time(), time.monotonic() - begun
            strain = Strain((now_cpu - cpu) / took if took > 0 else 0.0, self._lag_us)
            second = Second(number, self._meter.open, self._meter.tally, strain)
            self._meter.tally, self._lag_us, cpu = Tally(), 0, now_cpu
            self._reports.send_bytes(msgspec.msgpack.encode(second))


def _chosen(at: int, share: float) -> bool:
    """Choose a share of all numbers, spread out evenly."""
    return int((at + 1) * share) > int(at * share)
