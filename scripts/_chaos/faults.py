"""Do to a run what production does to it one day: each kind of fault, at random moments."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any

from .hubs import Place
from .plan import KINDS, Fault, Kind, now_ms
from .proxy import Line
from .store import Store
from .witness import Witness

# How long a fault lasts, at random between these; in s.
DEAD_S = (0.0, 4.0)  # a hub or the store, until it is started again
STOPPED_S = (0.5, 12.0)  # a hub by SIGSTOP
STORE_STOPPED_S = (0.5, 7.0)  # longer than its clients wait, now and then
CUT_S = (0.0, 4.0)
HELD_S = (0.5, 12.0)
RECOVER_S = 30.0  # for a hub that has started to be ready
MOST_AT_ONCE = 3  # faults; a run is to play most of the time
ONE_IN = 4  # sockets is hit at most

Act = Callable[[Fault], Awaitable[None]]


class Faults:
    """The faults of a run: `done` is the account of them, in order of their start."""

    def __init__(
        self, store: Store, places: list[Place], witness: Witness, chance: random.Random
    ) -> None:
        self.done: list[Fault] = []
        self.store_started: list[int] = []
        self._store = store
        self._places = places
        self._witness = witness
        self._chance = chance
        self._store_lock = asyncio.Lock()
        self._roll_lock = asyncio.Lock()
        self._room = asyncio.Semaphore(MOST_AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()
        self._acts: dict[Kind, Act] = {
            "hub killed": self._on_hub(self._kill_hub),
            "hub stopped": self._on_hub(self._stop_hub),
            "store killed": self._kill_store,
            "store stopped": self._stop_store,
            "link cut": self._on_hub(self._cut_link),
            "link black-holed": self._on_hub(self._hold_link),
            "sockets dropped": self._drop_sockets,
            "sockets half-open": self._half_open_sockets,
            "rolling restart": self._roll,
        }

    async def room(self) -> None:
        """Wait until there are not too many faults at once."""
        async with self._room:
            pass

    def start(self, kind: Kind) -> "asyncio.Task[None]":
        """Begin a fault; the task ends when it is over."""
        task = asyncio.create_task(self._do(kind))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def finish(self) -> None:
        """Wait until all faults are over."""
        await asyncio.gather(*self._tasks)

    async def _do(self, kind: Kind) -> None:
        async with self._room:
            fault = Fault(kind=kind, target="", started=now_ms())
            self.done.append(fault)
            await self._acts[kind](fault)
            fault.ended = now_ms()

    def _report(self, what: str, place: Place, detail: str) -> None:
        self._witness.troubles.report(what, f"hub {place.number}", detail=detail)

    # ---- Hubs

    def _on_hub(self, act: Callable[[Fault, Place], Coroutine[Any, Any, None]]) -> Act:
        """Do something to a hub to which nothing is being done."""

        async def do(fault: Fault) -> None:
            free = [place for place in self._places if not place.busy.locked()]
            place = self._chance.choice(free or self._places)
            async with place.busy:
                fault.target, fault.started = f"hub {place.number}", now_ms()
                await act(fault, place)

        return do

    async def _kill_hub(self, fault: Fault, place: Place) -> None:
        self._witness.blame(place.door.lines, fault)
        await place.hub.kill()
        await self._lasting(fault, DEAD_S)
        await self._start_hub(place)

    async def _stop_hub(self, fault: Fault, place: Place) -> None:
        lines = set(place.door.lines)
        self._witness.blame(lines, fault)
        place.hub.pause()
        await self._lasting(fault, STOPPED_S)
        place.hub.resume()
        self._witness.acquit(lines)

    async def _cut_link(self, fault: Fault, place: Place) -> None:
        await self._break_link(fault, place, place.link.cut, CUT_S)

    async def _hold_link(self, fault: Fault, place: Place) -> None:
        await self._break_link(fault, place, place.link.hold, HELD_S)

    async def _break_link(
        self, fault: Fault, place: Place, act: Callable[[], None], span_s: tuple[float, float]
    ) -> None:
        lines = set(place.door.lines)
        self._witness.blame(lines, fault)
        act()
        await self._lasting(fault, span_s)
        late = self._chance.random() < 1 / 2
        fault.detail += ", what was held came late" if late else ""
        place.link.mend(late=late)
        self._witness.acquit(lines)

    async def _roll(self, fault: Fault) -> None:
        async with self._roll_lock:
            fault.target, fault.started = "all hubs", now_ms()
            for place in self._places:
                async with place.busy:
                    await self._restart_hub(place)

    async def _restart_hub(self, place: Place) -> None:
        code = await place.hub.terminate()
        if code:
            self._report("unclean exit", place, f"code {code} after SIGTERM")
        await self._start_hub(place)

    async def _start_hub(self, place: Place) -> None:
        await place.restart()
        try:
            async with asyncio.timeout(RECOVER_S):
                await place.hub.ready()
        except TimeoutError:
            self._report("hub not ready", place, f"{RECOVER_S:.0f} s after its start")

    # ---- The store

    async def _kill_store(self, fault: Fault) -> None:
        async with self._store_lock:
            fault.target, fault.started = "store", now_ms()
            await self._store.kill()
            await self._lasting(fault, DEAD_S)
            self.store_started.append(now_ms())
            await self._store.start()

    async def _stop_store(self, fault: Fault) -> None:
        async with self._store_lock:
            fault.target, fault.started = "store", now_ms()
            self._store.pause()
            await self._lasting(fault, STORE_STOPPED_S)
            self._store.resume()

    # ---- Sockets

    async def _drop_sockets(self, fault: Fault) -> None:
        lines = self._some_lines()
        fault.target = f"{len(lines)} sockets"
        self._witness.blame(lines, fault)
        for line in lines:
            line.cut()

    async def _half_open_sockets(self, fault: Fault) -> None:
        lines = self._some_lines()
        fault.target = f"{len(lines)} sockets"
        self._witness.blame(lines, fault)
        for line in lines:
            line.swallow()

    def _some_lines(self) -> list[Line]:
        alive = [line for place in self._places for line in place.door.lines if line.is_alive]
        most = -(-len(alive) // ONE_IN)
        return self._chance.sample(alive, self._chance.randint(min(1, most), most))

    async def _lasting(self, fault: Fault, span_s: tuple[float, float]) -> None:
        seconds = self._chance.uniform(*span_s)
        fault.detail = f"for {seconds:.1f} s"
        await asyncio.sleep(seconds)


def kinds(chance: random.Random, among: tuple[Kind, ...] = KINDS) -> Iterator[Kind]:
    """Draw kinds without end, each as often as the others."""
    while True:
        yield from chance.sample(among, len(among))
