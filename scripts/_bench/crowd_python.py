"""Do what native/crowd.c does, in Python, where there is no C compiler; its commands are there.

It costs several times as much, so that fewer clients fit on the core beside the server.
"""

import os
import select
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable

RECEIVE_BYTES = 256 * 1024
ADDRESSES = 8  # of 127.0.0.0/8: one has ports for 28,000 connections to one server
HEADER = b"\r\n\r\n"
PING, PONG = b"\x89\x00", b"\x8a\x80\x00\x00\x00\x00"
SHORT = 126  # the first length of a payload that takes two bytes (RFC 6455, 5.2)
SETTLE_STEPS = 4


class Commands:
    """Lines on stdin, read without a buffer of which select() would not know."""

    def __init__(self) -> None:
        self._data = b""

    @property
    def waiting(self) -> bool:
        """Tell whether reading would not block."""
        return b"\n" in self._data or bool(select.select([0], [], [], 0)[0])

    def read(self) -> str | None:
        """Read a line; None at the end."""
        while b"\n" not in self._data:
            data = os.read(0, RECEIVE_BYTES)
            if not data:
                return None
            self._data += data
        line, _, self._data = self._data.partition(b"\n")
        return line.decode()


class Plan:
    """Sockets that are to be opened, and what each says first."""

    def __init__(self, count: int, group: int, path: str, headers: str, hello: str) -> None:
        self.count = count
        self.group = group
        self._path = path
        self._headers = headers.replace("\\r\\n", "\r\n")
        self.hello = bytes([0x81, 0x80 | len(hello)]) + bytes(4) + hello.encode() if hello else b""

    def request(self, host: str, port: int) -> bytes:
        """Write the request of a handshake; nothing if there is none."""
        if not self._path:
            return b""
        lines = [
            f"GET {self._path} HTTP/1.1",
            f"Host: {host}:{port}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
            "Sec-WebSocket-Version: 13",
            *([self._headers] if self._headers else []),
        ]
        return "\r\n".join([*lines, "", ""]).encode()


class Client:
    """One socket; `head` is what has come of the answer to its handshake, None after that."""

    def __init__(self, connection: socket.socket, plan: Plan, request: bytes) -> None:
        self.connection = connection
        self.group = plan.group
        self.request = request
        self.hello = plan.hello
        self.head: bytes | None = b""
        self.connected = False
        self.bytes = 0
        self.opened_ns = time.monotonic_ns()
        self.first_ns = 0
        self.last_ns = 0


class Crowd:
    """All sockets of this process."""

    def __init__(self, commands: Commands, lazy_seconds: float) -> None:
        self._commands = commands
        self._lazy_seconds = lazy_seconds
        self._epoll = select.epoll()
        self._clients: dict[int, Client] = {}
        self._gone: list[Client] = []  # that were open
        self._plans: list[Plan] = []
        self._under_way = self._failed = self._total = 0
        self._target: Counter[int] = Counter()
        self._asked_ns: dict[int, int] = {}
        self._latencies: list[int] = []
        self._last_ns = 0
        self._echo_frame, self._echo_bytes, self._echo_until, self._echoed = b"", 0, 0.0, 0

    # ---- Commands

    def add(self, count: str, group: str) -> None:
        """Plan sockets."""
        path, headers, hello = (self._commands.read() or "" for _ in range(3))
        self._plans.append(Plan(int(count), int(group), path, headers, hello))

    def open(self, host: str, port: str, at_once: str) -> str:
        """Connect what is planned."""
        self._failed = made = 0
        for plan in self._plans:
            request = plan.request(host, int(port))
            for _ in range(plan.count):
                while self._under_way >= int(at_once):
                    self._turn(1)
                self._dial(host, int(port), plan, request, made)
                made += 1
        while self._under_way:
            self._turn(1)
        self._plans = []
        return f"opened {made} {self._failed}"

    def expect(self, group: str, size: str, asked_ns: str) -> None:
        """Let each socket of a group wait for more."""
        number = int(group)
        self._target[number] += int(size)
        self._asked_ns[number] = int(asked_ns)
        for client in self._clients.values():  # what has come before we were told to wait for it
            is_there = client.group == number and client.bytes >= self._target[number]
            if self._asked_ns[number] and is_there:
                self._latencies.append(client.last_ns - self._asked_ns[number])

    def wait(self, seconds: str) -> str:
        """Wait until all have got what they are to get."""
        end = time.monotonic() + float(seconds)
        while (missing := self._missing()) and time.monotonic() < end:
            if any(each.bytes < self._target[each.group] for each in self._gone):
                break
            self._turn(0.01)
        return f"got {missing}"

    def settle(self, ms: str) -> str:
        """Read until nothing more comes, and forget what was expected."""
        self._last_ns = time.monotonic_ns()
        while time.monotonic_ns() - self._last_ns < int(ms) * 1e6:
            self._turn(int(ms) / 1000 / SETTLE_STEPS)
        for client in self._clients.values():
            client.bytes = 0
        self._target.clear()
        self._asked_ns.clear()
        return f"settled {self._total}"

    def latencies(self) -> str:
        """Tell how long what was asked for took, and forget it."""
        found, self._latencies = self._latencies, []
        return " ".join(map(str, ["latencies", len(found), *found]))

    def times(self) -> str:
        """Tell when each socket got its first bytes."""
        first = [client.first_ns for client in self._clients.values()]
        return " ".join(map(str, ["times", len(first), *first]))

    def echo(self, seconds: str, size: str) -> str:
        """Keep one message under way on each socket."""
        payload = int(size)
        long = payload >= SHORT
        length = bytes([0x80 | SHORT]) + payload.to_bytes(2) if long else bytes([0x80 | payload])
        self._echo_frame = b"\x82" + length + bytes(4 + payload)
        self._echo_bytes = len(self._echo_frame) - 4  # what comes back has no mask
        self._echo_until, self._echoed = time.monotonic() + float(seconds), 0
        for client in self._clients.values():
            client.bytes = 0
            client.connection.send(self._echo_frame)
        while time.monotonic() < self._echo_until:
            self._turn(0.1)
        echoed = self._echoed
        while self._turn(0.1):
            pass
        self._echo_bytes = 0
        return f"echoed {echoed}"

    def close(self) -> str:
        """Close all sockets."""
        for client in self._clients.values():
            client.connection.close()
        self._clients = {}
        self._gone = []
        self._latencies = []
        self._total = 0
        self._target.clear()
        self._asked_ns.clear()
        return "closed"

    # ---- Sockets

    def idle(self) -> None:
        """Read sockets until there is a command."""
        while not self._commands.waiting:
            if not self._lazy_seconds:
                select.select([0, self._epoll.fileno()], [], [])
            self._turn(0.001)

    def _dial(self, host: str, port: int, plan: Plan, request: bytes, number: int) -> None:
        connection = socket.socket()
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if host.startswith("127."):
            connection.bind((f"127.0.0.{1 + number % ADDRESSES}", 0))
        client = Client(connection, plan, request)
        self._clients[connection.fileno()] = client
        self._under_way += 1
        connection.connect_ex((host, port))
        self._epoll.register(connection, select.EPOLLIN | select.EPOLLOUT)

    def _turn(self, seconds: float) -> int:
        if self._lazy_seconds:
            time.sleep(self._lazy_seconds)
            seconds = 0
        ready = self._epoll.poll(seconds)
        for fd, _ in ready:
            client = self._clients[fd]
            if client.connected:
                self._read(client)
            else:
                self._connected(client)
        return len(ready)

    def _connected(self, client: Client) -> None:
        if client.connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self._give_up(client)
            return
        client.connected = True
        self._epoll.modify(client.connection, select.EPOLLIN)
        if client.request:
            client.connection.send(client.request)
        else:
            client.head = None
            self._under_way -= 1

    def _read(self, client: Client) -> None:
        try:
            data = client.connection.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._give_up(client)
        elif client.head is not None:
            self._shake(client, data)
        elif data == PING:
            client.connection.send(PONG)
        else:
            self._count(client, len(data))

    def _shake(self, client: Client, data: bytes) -> None:
        head, end, rest = ((client.head or b"") + data).partition(HEADER)
        if not end:
            client.head = head
        elif b" 101 " not in head:
            self._give_up(client)
        else:
            client.head = None
            self._under_way -= 1
            if client.hello:
                client.connection.send(client.hello)
            if rest:
                self._count(client, len(rest))

    def _count(self, client: Client, size: int) -> None:
        self._last_ns = client.last_ns = time.monotonic_ns()
        client.first_ns = client.first_ns or self._last_ns - client.opened_ns
        target, before = self._target[client.group], client.bytes
        client.bytes += size
        self._total += size
        asked_ns = self._asked_ns.get(client.group)
        if asked_ns and before < target <= client.bytes:
            self._latencies.append(self._last_ns - asked_ns)
        if self._echo_bytes and client.bytes >= self._echo_bytes:
            client.bytes = 0
            self._echoed += 1
            if time.monotonic() < self._echo_until:
                client.connection.send(self._echo_frame)

    def _give_up(self, client: Client) -> None:
        if client.head is not None:
            self._under_way -= 1
            self._failed += 1
        else:
            self._gone.append(client)
        del self._clients[client.connection.fileno()]
        client.connection.close()

    def _missing(self) -> int:
        clients = (*self._clients.values(), *self._gone)
        return sum(each.bytes < self._target[each.group] for each in clients)


def _main() -> None:
    commands = Commands()
    crowd = Crowd(commands, int(sys.argv[1]) / 1e6 if len(sys.argv) > 1 else 0.0)
    crowd.idle()
    while (line := commands.read()) is not None:
        name, *arguments = line.split()
        command: Callable[..., str | None] = getattr(crowd, name)
        answer = command(*arguments)
        if answer is not None:
            print(answer, flush=True)
        crowd.idle()


if __name__ == "__main__":
    _main()
