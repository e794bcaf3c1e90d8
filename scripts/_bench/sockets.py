"""Measure what an idle spectator costs: memory, and the CPU of its connecting."""

from contextlib import ExitStack

from .bench import Bench
from .crowd import Crowd
from .figures import Report, Series
from .hub import HubProcess
from .process import Program

IDLE = 10_000
MOST = 20_000
WARM_UP = 500  # connections before memory is counted: what a first use allocates is not a socket's
SPARE_FILES = 100  # that a process needs for other things than sockets
LIMIT_KIB = 12.0
LIMIT_CONNECT = 1.3
KIB = 1024
MICRO = 1e6

HUB, BARE = "hub, spectator", "websockets"


class Sockets:
    """Opens idle sockets on one server after the other."""

    def __init__(self, idle: int) -> None:
        self._idle = idle
        self.memory = Series("KiB a socket")
        self.connect = Series("us of CPU a connect")

    def fill(self, name: str, server: Program, crowd: Crowd, port: int, path: str) -> None:
        """Open the sockets, and see what that took."""
        crowd.open(port, WARM_UP, path)
        crowd.settle()
        memory, cpu = server.rss_bytes(), server.cpu_seconds()
        crowd.open(port, self._idle, path)
        crowd.settle()
        self.connect.add(name, (server.cpu_seconds() - cpu) * MICRO / self._idle)
        self.memory.add(name, (server.rss_bytes() - memory) / KIB / self._idle)


async def sockets(bench: Bench, idle: int = IDLE, most: int = MOST) -> Report:
    """Open sockets that do nothing, on the hub and on the bare package."""
    room = bench.file_limit - SPARE_FILES
    idle = min(idle, room - WARM_UP)
    run = Sockets(idle)
    note = ""
    for repeat in range(bench.repeats):
        await bench.clear()
        with ExitStack() as exits:
            hub, crowd = exits.enter_context(bench.hub()), exits.enter_context(bench.crowd())
            play = await bench.dealer.open()
            run.fill(HUB, hub, crowd, hub.port, f"/watch/{play.match_id}")
            if repeat == 0:
                note = await _fill_up(bench, hub, idle + WARM_UP, min(most, room))
        with ExitStack() as exits:
            bare = exits.enter_context(Program.python("bare", core=bench.server_core))
            crowd, port = exits.enter_context(bench.crowd()), int(bare.read())
            run.fill(BARE, bare, crowd, port, "/")
    return Report(
        f"Sockets: {idle} idle spectators",
        (*run.memory.figures(), *run.connect.figures()),
        (
            run.memory.ratio(HUB, BARE),
            run.connect.ratio(HUB, BARE, LIMIT_CONNECT),
            run.memory.against(HUB, LIMIT_KIB),
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
