"""Stand between two parts as a TCP proxy, on which connections can be cut, held or black-holed."""

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Protocol, Self, cast

Address = str | tuple[str, int]  # the path of a unix socket, or host and port

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER for 0 s


class Watcher(Protocol):
    """Sees what one line passes on."""

    def sent(self, data: bytes) -> None:
        """Look at bytes from the client to the server."""

    def received(self, data: bytes) -> None:
        """Look at bytes from the server to the client."""

    def closed(self) -> None:
        """Hear that the client's end is closed."""


class _End(asyncio.Protocol):
    """One of the two connections of a line; `carry` gets what is received on it."""

    def __init__(
        self,
        made: Callable[[], None],
        carry: Callable[[bytes], None],
        lost: Callable[[Exception | None], None],
    ) -> None:
        self._made = made
        self._carry = carry
        self._lost = lost
        self.transport: asyncio.Transport | None = None
        self.other: _End | None = None

    @property
    def open(self) -> asyncio.Transport | None:
        """The transport, while it is open."""
        return None if self.transport is None or self.transport.is_closing() else self.transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's own does not inherit it
        self._made()

    def data_received(self, data: bytes) -> None:
        self._carry(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost(exc)

    def pause_writing(self) -> None:
        if self.other is not None and self.other.open is not None:
            self.other.open.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and self.other.open is not None:
            self.other.open.resume_reading()

    def write(self, data: bytes) -> None:
        if self.open is not None:
            self.open.write(data)

    def close(self) -> None:
        if self.open is not None:
            self.open.close()

    def reset(self) -> None:
        """Close so that the other side gets a reset."""
        if self.open is None:
            return
        raw = self.open.get_extra_info("socket")
        if raw.family != socket.AF_UNIX:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self.open.abort()


class Line:
    """One client's connection through a proxy.

    Held, it passes nothing on until it is released. Swallowed, it loses everything from then on,
    its ends' closing included, and neither of them is told.
    """

    def __init__(self, proxy: "Proxy") -> None:
        self._proxy = proxy
        self._held: list[Callable[[], None]] = []
        self._is_connected = False
        self.is_held = False
        self.is_swallowed = False
        self.client = _End(self._begin, self._send, self._client_lost)
        self._server = _End(lambda: None, self._receive, self._server_lost)
        self.client.other, self._server.other = self._server, self.client
        self.watcher: Watcher | None = None

    @property
    def is_alive(self) -> bool:
        """Tell whether the client may hope for something to come."""
        return self.client.open is not None and not self.is_swallowed

    def _begin(self) -> None:
        self.watcher = self._proxy.take(self)

    async def connect(self, target: Address) -> None:
        """Connect to the server."""
        loop = asyncio.get_running_loop()
        try:
            if isinstance(target, str):
                await loop.create_unix_connection(lambda: self._server, target)
            else:
                await loop.create_connection(lambda: self._server, *target)
        except OSError:
            self.client.reset()
            return
        self._is_connected = True
        if not self.is_held:
            self.release()

    def hold(self) -> None:
        """Pass nothing on from now on, but keep it."""
        self.is_held = True

    def release(self) -> None:
        """Pass on what was kept, and all that follows."""
        self.is_held = False
        if self._is_connected:
            held, self._held = self._held, []
            for act in held:
                act()

    def swallow(self) -> None:
        """Lose everything from now on."""
        self.is_swallowed = True

    def cut(self) -> None:
        """Reset both connections."""
        self.client.reset()
        self._server.reset()

    def _do(self, act: Callable[[], None]) -> None:
        if self.is_swallowed:
            return
        if self.is_held or not self._is_connected:
            self._held.append(act)
        else:
            act()

    def _send(self, data: bytes) -> None:
        def act() -> None:
            if self.watcher is not None:
                self.watcher.sent(data)
            self._server.write(data)

        self._do(act)

    def _receive(self, data: bytes) -> None:
        def act() -> None:
            if self.watcher is not None:
                self.watcher.received(data)
            self.client.write(data)

        self._do(act)

    def _client_lost(self, error: Exception | None) -> None:
        if self.watcher is not None:
            self.watcher.closed()
        self._lost(self._server, error)

    def _server_lost(self, error: Exception | None) -> None:
        self._lost(self.client, error)

    def _lost(self, other: _End, error: Exception | None) -> None:
        self._do(other.close if error is None else other.reset)
        if other.open is None:
            self._proxy.lines.discard(self)


class Proxy:
    """Listens for clients of the server at `target`, while it is entered by `async with`.

    `watch` gives the watcher of each new line, if it is to have one.
    """

    def __init__(
        self, target: Address, watch: Callable[[Line], Watcher | None] = lambda line: None
    ) -> None:
        self.target = target
        self.watch = watch
        self.lines: set[Line] = set()
        self.port = 0
        self._is_cut = False
        self._is_holding = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.get_running_loop().create_server(
            lambda: Line(self).client, "127.0.0.1", 0, backlog=1024
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self) -> None:
        """Reset every line, and each new one, until `mend`."""
        self._is_cut = True
        for line in list(self.lines):
            line.cut()

    def hold(self) -> None:
        """Pass nothing on, on old lines and new ones, until `mend`."""
        self._is_holding = True
        for line in self.lines:
            line.hold()

    def mend(self, *, late: bool = True) -> None:
        """Work again; what was held is passed on if `late`, else its lines are cut."""
        self._is_cut = self._is_holding = False
        for line in [each for each in self.lines if each.is_held]:
            if late:
                line.release()
            else:
                line.cut()

    def take(self, line: Line) -> Watcher | None:
        """Take in a line that a client has opened."""
        if self._is_cut:
            line.cut()
            return None
        if self._is_holding:
            line.hold()
        self.lines.add(line)
        task = asyncio.get_running_loop().create_task(line.connect(self.target))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return self.watch(line)
