"""Play matches through hubs, by raw sockets: many agents in one loop that costs little."""

import heapq
import random
import select
import time
from collections.abc import Sequence

import msgspec

from hub.tokens import issue
from protocol.codec import encode
from protocol.messages import Action, AgentId, MatchId, PlaceParams

from .dealer import NONCE, SEATS, TALK, Play
from .hub import SECRET, TOKEN_HOURS
from .wire import Wire


class Glance(msgspec.Struct):
    """What a player has to know of a message."""

    type: str
    seat: int = -1
    turn: int = 0
    dice: tuple[int, ...] = ()
    code: str = ""


_glance = msgspec.msgpack.Decoder(Glance).decode


class Seat:
    """One agent's socket."""

    def __init__(self, table: "LiveTable", number: int, wire: Wire) -> None:
        self.table = table
        self.number = number
        self.following = (number + 1) % SEATS
        self.wire = wire

    def place(self, roll: Glance) -> None:
        """Answer a roll by the face that takes the fewest dice."""
        action = Action(
            id=f"{roll.turn}",
            match_id=self.table.match_id,
            turn=roll.turn,
            action="place",
            params=PlaceParams(face=min(roll.dice, key=roll.dice.count), message=TALK, nonce=NONCE),
        )
        self.wire.send(encode(action, "msgpack"))


def agent_path(match_id: MatchId) -> str:
    """Name the stream of a seat's match from its first event on."""
    return f"/play?after=0&match_id={match_id}"


def agent_headers(agent_id: AgentId) -> str:
    """Make the header that lets an agent in."""
    token = issue(SECRET.encode(), agent_id, agent_id[:32], TOKEN_HOURS)
    return f"Authorization: Bearer {token}"


class LiveTable:
    """A match under way and its four sockets, seat after seat on one port after the other."""

    def __init__(self, play: Play, ports: Sequence[int]) -> None:
        self.match_id: MatchId = play.match_id
        self.mover: Seat | None = None  # until the next seat has what it did
        self.roll = Glance("")
        self.seats = [
            Seat(self, number, self._dial(agent, ports[number % len(ports)]))
            for number, agent in enumerate(play.agents)
        ]

    def _dial(self, agent_id: AgentId, port: int) -> Wire:
        return Wire(port, agent_path(self.match_id), agent_headers(agent_id))

    def move(self) -> None:
        """Let the seat whose turn it is place; the next seat, on another hub, is listened to."""
        self.mover = self.seats[self.roll.seat]
        self.mover.place(self.roll)

    def latency(self, seat: Seat, placed: Glance) -> float | None:
        """How long a placement took to a seat, if it is the one that is waited for there."""
        mover = self.mover
        if mover is None or placed.turn != self.roll.turn or seat.number != mover.following:
            return None
        self.mover = None
        return (seat.wire.arrived_ns - mover.wire.sent_ns) / 1e9

    def close(self) -> None:
        """Close the sockets."""
        for seat in self.seats:
            seat.wire.close()


class Players:
    """Plays tables, each as fast as it can or with a pause before each move."""

    def __init__(self, tables: Sequence[LiveTable], pause_seconds: float = 0.0) -> None:
        self.latencies: list[float] = []
        self.late: list[float] = []  # how much later than planned moves were sent: our own fault
        self.moves = 0
        self.errors: list[str] = []
        self._pause_ns = int(pause_seconds * 1e9)
        self._due: list[tuple[int, int, LiveTable]] = []
        self._seats: dict[int, Seat] = {}
        self._epoll = select.epoll()
        for seat in (seat for table in tables for seat in table.seats):
            self._seats[seat.wire.socket.fileno()] = seat
            self._epoll.register(seat.wire.socket, select.EPOLLIN)
        for seat in self._seats.values():
            self._take(seat, seat.wire.buffered())

    def play(self, moves: int, seconds: float = 60.0) -> float:
        """Go on until so many more moves are made or the time is over; the seconds it took."""
        started = time.monotonic()
        wanted = self.moves + moves
        while self.moves < wanted and time.monotonic() - started < seconds:
            self._turn()
        return time.monotonic() - started

    def settle(self, seconds: float = 0.3) -> None:
        """Read until nothing comes for so long."""
        while self._read(seconds):
            pass

    def close(self) -> None:
        """Stop watching the sockets."""
        self._epoll.close()

    def _turn(self) -> None:
        now = time.monotonic_ns()
        while self._due and self._due[0][0] <= now:
            planned, _, table = heapq.heappop(self._due)
            self.late.append((now - planned) / 1e9)
            table.move()
        wait = (self._due[0][0] - now) / 1e9 if self._due else 0.1
        self._read(wait)

    def _read(self, wait: float) -> int:
        ready = self._epoll.poll(max(wait, 0))
        for fd, _ in ready:
            seat = self._seats[fd]
            self._take(seat, seat.wire.take())
        return len(ready)

    def _take(self, seat: Seat, payloads: list[bytes]) -> None:
        for payload in payloads:
            glance = _glance(payload)
            if glance.type == "placed":
                latency = seat.table.latency(seat, glance)
                if latency is not None:
                    self.latencies.append(latency)
            elif glance.type == "roll" and glance.seat == seat.number:
                self.moves += 1
                seat.table.roll = glance
                self._plan(seat.table)
            elif glance.type == "error":
                self.errors.append(glance.code)

    def _plan(self, table: LiveTable) -> None:
        if not self._pause_ns:
            heapq.heappush(self._due, (time.monotonic_ns(), id(table), table))
            return
        pause = int(self._pause_ns * random.uniform(0.5, 1.5))
        heapq.heappush(self._due, (time.monotonic_ns() + pause, id(table), table))
