"""Measure what an idle spectator costs: memory, and the CPU of its connecting."""

from contextlib import ExitStack

from .bench import Bench
from .crowd import Crowd
from .figures import Report, Series
from .hub import HubProcess
from .process import Program

IDLE = 10_000
STRETCHES = 5  # in which they are opened
MOST = 20_000
WARM_UP = 500  # connections before memory is counted: what a first use allocates is not a socket's
SPARE_FILES = 100  # that a process needs for other things than sockets
LIMIT_KIB = 12.0
LIMIT_CONNECT = 1.3
KIB = 1024
MICRO = 1e6

HUB, BARE = "hub, spectator", "websockets"


class Filling:
    """One server that gets idle sockets, and what they cost."""

    def __init__(self, server: Program, crowd: Crowd, port: int, path: str) -> None:
        self._server = server
        self._crowd = crowd
        self._port = port
        self._path = path
        self._open(WARM_UP)
        self._rss_bytes = server.rss_bytes()
        self.cpu_seconds = 0.0

    @property
    def grown_bytes(self) -> int:
        """How much more memory it holds since its first few sockets."""
        return self._server.rss_bytes() - self._rss_bytes

    def open(self, count: int) -> None:
        """Open some more."""
        before = self._server.cpu_seconds()
        self._open(count)
        self.cpu_seconds += self._server.cpu_seconds() - before

    def _open(self, count: int) -> None:
        self._crowd.open(self._port, count, self._path)
        self._crowd.settle()


async def sockets(bench: Bench, idle: int = IDLE, most: int = MOST) -> Report:
    """Open sockets that do nothing, on the hub and on the bare package in turn."""
    room = bench.file_limit - SPARE_FILES
    stretch = min(idle, room - WARM_UP) // STRETCHES
    idle = stretch * STRETCHES
    memory, connect = Series("KiB a socket"), Series("us of CPU a connect")
    note = ""
    for repeat in range(bench.repeats):
        await bench.clear()
        with ExitStack() as exits:
            hub = exits.enter_context(bench.hub())
            bare = exits.enter_context(Program.python("bare", core=bench.server_core))
            crowds = [exits.enter_context(bench.crowd()) for _ in range(2)]
            play = await bench.dealer.open()
            filling = {
                HUB: Filling(hub, crowds[0], hub.port, f"/watch/{play.match_id}"),
                BARE: Filling(bare, crowds[1], int(bare.read()), "/"),
            }
            for _ in range(STRETCHES):
                for each in filling.values():
                    each.open(stretch)
            for name, each in filling.items():
                connect.add(name, each.cpu_seconds * MICRO / idle)
                memory.add(name, each.grown_bytes / KIB / idle)
            if repeat == 0:
                note = await _fill_up(bench, hub, idle + WARM_UP, min(most, room))
    return Report(
        f"Sockets: {idle} idle spectators",
        (*memory.figures(), *connect.figures()),
        (
            memory.ratio(HUB, BARE),
            connect.ratio(HUB, BARE, LIMIT_CONNECT),
            memory.against(HUB, LIMIT_KIB),
        ),
        (note,),
    )


async def _fill_up(bench: Bench, hub: HubProcess, there: int, most: int) -> str:
    """Open as many sockets as one process may have here, and deliver a move to the new ones."""
    play = await bench.dealer.open()
    with bench.crowd() as crowd:
        crowd.open(hub.port, most - there, f"/watch/{play.match_id}")
        crowd.settle()
        crowd.expect(0, await bench.dealer.move(play))
        crowd.wait()
    return f"{most} sockets on one hub: all were opened, and the newest got their move."
