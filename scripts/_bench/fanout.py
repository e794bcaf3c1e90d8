"""Measure fan-out: what it costs a server to deliver a table's moves to its spectators.

Real moves are committed to the store by the dealer, or made on the hub by four agents that answer
each roll at once; the hub hears of them on the table's channel and passes them on. All contenders
write the same number of bytes a move: those of the hub's joined frames.
"""

from collections.abc import Awaitable, Callable
from contextlib import ExitStack, closing

from . import peer
from .bare import EVENTS, FRAME_HEADER_BYTES
from .bench import Bench
from .figures import Report, Series
from .floor import Floor
from .players import LiveTable, Players
from .process import Program

SPECTATORS = 1000
MOVES = 60  # made of a match, which has about a hundred
TYPICAL_MOVE_BYTES = 600
MICRO = 1e6

ONE = "one at a time"
MANY = "back to back"
QUEUED = "a queue of moves"

Send = Callable[[int], Awaitable[None]]


class Fanout:
    """One repetition after the other, contender after contender."""

    def __init__(self, bench: Bench, exits: ExitStack, spectators: int, moves: int) -> None:
        self._bench = bench
        self._spectators = spectators
        self._moves = moves
        self._floor = exits.enter_context(Floor(bench.server_core))
        self._bare = exits.enter_context(Program.python("bare", core=bench.server_core))
        self._bare_port = int(self._bare.read())
        self._hub = exits.enter_context(bench.hub())
        self._crowds = {
            name: exits.enter_context(bench.crowd(lazy=True)) for name in ("floor", "bare", "hub")
        }
        self.move_bytes = TYPICAL_MOVE_BYTES
        self.missing: list[str] = []
        self._peers: dict[str, tuple[Program, int]] = {}
        for name in bench.peers:
            try:
                self._invite(name, exits)
            except peer.CannotInstall as error:
                self.missing.append(f"{error}.")
        self._crowds["floor"].open(self._floor.port, spectators)
        self._floor.accept(spectators)
        self._crowds["bare"].open(self._bare_port, spectators, "/")

    async def measure(self, series: Series) -> None:
        """Take one sample of each."""
        series.add(f"hub, {ONE}", await self.hub(self._spectators, pause=True))
        series.add(f"hub, {QUEUED}", await self.hub(self._spectators, pause=False))
        series.add(f"hub, {MANY}", await self.played(self._spectators))
        for how, pause in ((ONE, True), (MANY, False)):
            series.add(f"C send(), {how}", self.floor(pause=pause))
            for command in ("write", "broadcast"):
                series.add(f"websockets {command}, {how}", self.bare(command, pause=pause))
            for name in self._peers:
                series.add(f"{name}, {how}", self.peer(name, pause=pause))

    def _invite(self, name: str, exits: ExitStack) -> None:
        """Start a peer and let it run warm: some compile what is often used."""
        bench = self._bench
        server = exits.enter_context(peer.start(name, bench.redis_url, bench.server_core))
        self._crowds[name] = exits.enter_context(bench.crowd(lazy=True))
        self._peers[name] = server, int(server.read())
        self.peer(name, pause=False)

    def peer(self, name: str, *, pause: bool) -> float:
        """Send the same by somebody else's server, as one message a move."""
        (server, port), asked, crowd = self._peers[name], peer.PEERS[name], self._crowds[name]
        # Fresh ones each time: those of Socket.IO close if they don't answer its own pings.
        crowd.open(port, self._spectators, asked.path, hello=asked.hello)
        crowd.settle()

        def send(moves: int, size: int) -> None:
            server.ask(f"broadcast {moves} {size - FRAME_HEADER_BYTES}")

        cost = self._drive(name, server, send, pause=pause)
        crowd.close()
        return cost

    async def hub(self, spectators: int, *, pause: bool) -> float:
        """Deliver a fresh match's moves; CPU microseconds a delivery."""
        crowd, hub = self._crowds["hub"], self._hub
        play = await self._bench.dealer.open()
        crowd.open(hub.port, spectators, f"/watch/{play.match_id}")
        crowd.settle()
        before = hub.cpu_seconds()
        sent = 0
        for _ in range(self._moves):
            size = await self._bench.dealer.move(play)
            crowd.expect(0, size)
            sent += size
            if pause:
                crowd.wait()
        crowd.wait()
        spent = hub.cpu_seconds() - before
        crowd.close()
        self.move_bytes = sent // self._moves
        return spent * MICRO / (self._moves * spectators)

    async def played(self, spectators: int) -> float:
        """Let agents play on the hub as fast as they can; all of its work is counted."""
        crowd, hub = self._crowds["hub"], self._hub
        play = await self._bench.dealer.open()
        crowd.open(hub.port, spectators, f"/watch/{play.match_id}")
        table = LiveTable(play, [hub.port])
        with closing(Players([table])) as players:
            players.settle()
            crowd.settle()
            before = hub.cpu_seconds()
            players.play(self._moves)
            crowd.settle()
            spent = hub.cpu_seconds() - before
        table.close()
        crowd.close()
        return spent * MICRO / (self._moves * spectators)

    def floor(self, *, pause: bool) -> float:
        """Send the same by a loop of send()."""
        floor = self._floor
        return self._drive("floor", floor.program, floor.send, pause=pause)

    def bare(self, command: str, *, pause: bool) -> float:
        """Send the same by the websockets package."""

        def send(moves: int, size: int) -> None:
            self._bare.ask(f"{command} {moves} {size}")

        return self._drive("bare", self._bare, send, pause=pause)

    def _drive(
        self,
        name: str,
        server: Program,
        send: Callable[[int, int], None],
        *,
        pause: bool,
    ) -> float:
        crowd, size = self._crowds[name], self.move_bytes // EVENTS * EVENTS
        crowd.settle(50)
        before = server.cpu_seconds()
        steps, at_once = (self._moves, 1) if pause else (1, self._moves)
        for _ in range(steps):
            crowd.expect(0, at_once * size)
            send(at_once, size)
            crowd.wait()
        spent = server.cpu_seconds() - before
        return spent * MICRO / (self._moves * self._spectators)


async def fanout(bench: Bench, spectators: int = SPECTATORS, moves: int = MOVES) -> Report:
    """Compare the hub with the floor and with the websockets package."""
    series, alone = Series("us a delivery"), Series("us a move")
    with ExitStack() as exits:
        run = Fanout(bench, exits, spectators, moves)
        for _ in range(bench.repeats):
            await run.measure(series)
            alone.add(f"hub, one spectator, {ONE}", await run.hub(1, pause=True))
            alone.add(f"hub, one spectator, {MANY}", await run.played(1))
    return Report(
        f"Fan-out: one table, {spectators} spectators, {run.move_bytes} bytes a move",
        (*series.figures(), *alone.figures()),
        (
            series.ratio(f"hub, {ONE}", f"C send(), {ONE}", 1.4),
            series.ratio(f"hub, {MANY}", f"C send(), {MANY}", 0.75),
            series.ratio(f"hub, {ONE}", f"websockets write, {ONE}"),
            series.ratio(f"hub, {MANY}", f"websockets write, {MANY}"),
        ),
        (
            f"{MANY.capitalize()}: four agents play on the hub, and all of its work is counted."
            " Otherwise moves are committed elsewhere, and the hub hears and delivers them.",
            "What a move costs the hub apart from its spectators is in 'one spectator'.",
            *run.missing,
        ),
    )
