"""Measure fan-out: what it costs a server to deliver a table's moves to its spectators.

Real moves are committed to the store by the dealer, or made on the hub by four agents that answer
each roll at once; the hub hears of them on the table's channel and passes them on. All contenders
write the same number of bytes a move: those of the hub's joined frames.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack, closing

from . import peer
from .bare import EVENTS, FRAME_HEADER_BYTES
from .bench import Bench
from .crowd import Crowd
from .figures import Report, Series
from .floor import Floor
from .players import LiveTable, Players
from .process import Program

SPECTATORS = 1000
MOVES = 60  # made of a match, which has about a hundred
STRETCHES = 3  # into which they are cut
COMMANDS = ("write", "broadcast")  # of bare.py
TYPICAL_MOVE_BYTES = 600
MICRO = 1e6

ONE = "one at a time"
MANY = "back to back"
QUEUED = "a queue of moves"

Stretches = AsyncGenerator[float, None]  # the CPU seconds of one stretch after the other
Send = Callable[[int, int], object]  # so many moves of so many bytes


class Fanout:
    """One repetition after the other; in each, all contenders take turns."""

    def __init__(self, bench: Bench, exits: ExitStack, spectators: int, moves: int) -> None:
        self._bench = bench
        self._exits = exits
        self._spectators = spectators
        self._stretch = max(1, moves // STRETCHES)
        self._floor = exits.enter_context(Floor(bench.server_core))
        self._bare = exits.enter_context(Program.python("bare", core=bench.server_core))
        self._bare_port = int(self._bare.read())
        self._hub = exits.enter_context(bench.hub())
        self._crowds: dict[str, Crowd] = {}
        self.move_bytes = TYPICAL_MOVE_BYTES
        self.missing: list[str] = []
        self._peers: dict[str, tuple[Program, int]] = {}
        for name in bench.peers:
            try:
                server = exits.enter_context(peer.start(name, bench.redis_url, bench.server_core))
                self._peers[name] = server, int(server.read())
            except peer.CannotInstall as error:
                self.missing.append(f"{error}.")
        self._crowd("floor").open(self._floor.port, spectators)
        self._floor.accept(spectators)
        self._crowd("bare").open(self._bare_port, spectators, "/")

    def _crowd(self, name: str) -> Crowd:
        if name not in self._crowds:
            self._crowds[name] = self._exits.enter_context(self._bench.crowd(lazy=True))
        return self._crowds[name]

    async def warm_up(self) -> None:
        """Let the peers run: some compile what is often used."""
        await self._take_turns({name: self.peer(name, pause=False) for name in self._peers})

    async def measure(self, series: Series, alone: Series) -> None:
        """Take one sample of each, in CPU microseconds a delivery."""
        many, one = self._spectators, 1
        for how, pause in ((ONE, True), (MANY, False)):
            hub = {f"hub, {how}": self.hub(many) if pause else self.played(many)}
            if not pause:
                hub[f"hub, {QUEUED}"] = self.hub(many, pause=False)
            spent = await self._take_turns(
                hub
                | {f"C send(), {how}": self.floor(pause=pause)}
                | {f"websockets {each}, {how}": self.bare(each, pause=pause) for each in COMMANDS}
                | {f"{name}, {how}": self.peer(name, pause=pause) for name in self._peers}
            )
            for name, seconds in spent.items():
                series.add(name, seconds * MICRO / (STRETCHES * self._stretch * many))
            name = f"hub, one spectator, {how}"
            spent = await self._take_turns({name: self.hub(one) if pause else self.played(one)})
            alone.add(name, spent[name] * MICRO / (STRETCHES * self._stretch))

    async def _take_turns(self, contenders: dict[str, Stretches]) -> dict[str, float]:
        """Let each go a stretch, again and again: what else the machine does hits all alike."""
        spent = dict.fromkeys(contenders, 0.0)
        for _ in range(STRETCHES):
            for name, stretches in contenders.items():
                spent[name] += await anext(stretches)
        for stretches in contenders.values():
            await stretches.aclose()
        return spent

    async def peer(self, name: str, *, pause: bool) -> Stretches:
        """Send the same by somebody else's server, as one message a move."""
        (server, port), asked, crowd = self._peers[name], peer.PEERS[name], self._crowd(name)

        def send(moves: int, size: int) -> None:
            server.ask(f"broadcast {moves} {size - FRAME_HEADER_BYTES}")

        # Fresh ones each time: those of Socket.IO close if they don't answer its own pings.
        crowd.open(port, self._spectators, asked.path, hello=asked.hello)
        try:
            async for seconds in self._drive(name, server, send, pause=pause):
                yield seconds
        finally:
            crowd.close()

    async def hub(self, spectators: int, *, pause: bool = True) -> Stretches:
        """Deliver a fresh match's moves, which are made elsewhere."""
        crowd, hub = self._crowd(f"hub {pause}"), self._hub
        play = await self._bench.dealer.open()
        crowd.open(hub.port, spectators, f"/watch/{play.match_id}")
        try:
            while True:
                crowd.settle()
                before, sent = hub.cpu_seconds(), 0
                for _ in range(self._stretch):
                    size = await self._bench.dealer.move(play)
                    crowd.expect(0, size)
                    sent += size
                    if pause:
                        crowd.wait()
                crowd.wait()
                self.move_bytes = sent // self._stretch
                yield hub.cpu_seconds() - before
        finally:
            crowd.close()

    async def played(self, spectators: int) -> Stretches:
        """Let agents play on the hub as fast as they can; all of its work is counted."""
        crowd, hub = self._crowd("played"), self._hub
        play = await self._bench.dealer.open()
        crowd.open(hub.port, spectators, f"/watch/{play.match_id}")
        table = LiveTable(play, [hub.port])
        try:
            with closing(Players([table])) as players:
                players.settle()
                while True:
                    crowd.settle()
                    before = hub.cpu_seconds()
                    players.play(self._stretch)
                    crowd.settle()
                    yield hub.cpu_seconds() - before
        finally:
            table.close()
            crowd.close()

    def floor(self, *, pause: bool) -> Stretches:
        """Send the same by a loop of send()."""
        return self._drive("floor", self._floor.program, self._floor.send, pause=pause)

    def bare(self, command: str, *, pause: bool) -> Stretches:
        """Send the same by the websockets package."""

        def send(moves: int, size: int) -> None:
            self._bare.ask(f"{command} {moves} {size}")

        return self._drive("bare", self._bare, send, pause=pause)

    async def _drive(self, name: str, program: Program, send: Send, *, pause: bool) -> Stretches:
        """Send the same by a program that does so when told to."""
        crowd = self._crowd(name)
        steps, at_once = (self._stretch, 1) if pause else (1, self._stretch)
        while True:
            size = self.move_bytes // EVENTS * EVENTS
            crowd.settle(50)
            before = program.cpu_seconds()
            for _ in range(steps):
                crowd.expect(0, at_once * size)
                send(at_once, size)
                crowd.wait()
            yield program.cpu_seconds() - before


async def fanout(bench: Bench, spectators: int = SPECTATORS, moves: int = MOVES) -> Report:
    """Compare the hub with the floor and with the websockets package."""
    series, alone = Series("us a delivery"), Series("us a move")
    with ExitStack() as exits:
        run = Fanout(bench, exits, spectators, moves)
        await run.warm_up()
        for _ in range(bench.repeats):
            await run.measure(series, alone)
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
