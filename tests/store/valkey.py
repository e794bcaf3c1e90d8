"""Servers and ways to them that fail on purpose."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

import redis
from redis.client import Monitor

from hub.store.embedded import EmbeddedValkey

CHUNK_BYTES = 65536

Role = Literal["subscriber", "commander"]
Way = Literal["up", "down"]


class OwnValkey:
    """A server of a test's own: it can be paused, killed, and started again with its data."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._valkey = EmbeddedValkey(data_dir, fsync=False)
        self.url = ""

    def start(self) -> None:
        """Start the server, or start it again; the URL stays the same."""
        self._valkey = EmbeddedValkey(self._data_dir, fsync=False)
        self.url = self._valkey.__enter__()
        with redis.Redis.from_url(self.url) as client:
            self._pid = int(client.info("server")["process_id"])

    def pause(self) -> None:
        os.kill(self._pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self._pid, signal.SIGCONT)

    def wait_until_idle(self) -> None:
        """Block, and the loop with it, until all that was sent so far is answered."""
        with redis.Redis.from_url(self.url) as client:
            client.ping()

    @contextmanager
    def monitored(self) -> Iterator[Callable[[], list[str]]]:
        """Watch what clients send; the list of it so far, without what scripts do."""
        with redis.Redis.from_url(self.url) as client, redis.Redis.from_url(self.url) as watcher:
            client.ping()  # so that its handshake is not seen
            with watcher.monitor() as monitor:
                yield lambda: list(self._sent(client, monitor))

    def _sent(self, client: redis.Redis, monitor: Monitor) -> Iterator[str]:
        client.echo("that is all")
        while (seen := self._next(monitor))["command"] != "ECHO that is all":
            if seen["client_type"] != "lua":
                yield seen["command"]

    def _next(self, monitor: Monitor) -> dict[str, str]:
        seen: dict[str, str] = monitor.next_command()  # type: ignore[no-untyped-call]
        return seen

    def kill(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        self._valkey.__exit__()

    def stop(self) -> None:
        with suppress(ProcessLookupError):
            self.resume()
        self._valkey.__exit__()


class Proxy:
    """A TCP way to a server on which bytes may get lost without anyone's being told.

    A connection is a commander's until the first SUBSCRIBE passes through it.
    """

    def __init__(self, server_url: str) -> None:
        self._server_path = unquote(urlsplit(server_url).path)
        self._lost: tuple[tuple[Role, Way], ...] = ()
        self._serving: set[asyncio.Task[None]] = set()
        self.connections = 0
        self.url = ""

    def lose(self, *lost: tuple[Role, Way]) -> None:
        """Lose from now on what comes on such connections in such a direction, and nothing else."""
        self._lost = lost

    def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def end(self) -> None:
        """Close what is open."""
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_unix_connection(self._server_path)
        role: list[Role] = ["commander"]
        try:
            await asyncio.gather(
                self._pump(reader, server_writer, role, "up"),
                self._pump(server_reader, writer, role, "down"),
            )
        finally:
            writer.transport.abort()
            server_writer.transport.abort()

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        role: list[Role],
        way: Way,
    ) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(CHUNK_BYTES):
                if way == "up" and b"SUBSCRIBE" in data:
                    role[0] = "subscriber"
                if (role[0], way) not in self._lost:
                    writer.write(data)
                    await writer.drain()
        writer.close()


@asynccontextmanager
async def proxied(server_url: str) -> AsyncIterator[Proxy]:
    """Open a way to a server."""
    proxy = Proxy(server_url)
    async with await asyncio.start_server(proxy.serve, "127.0.0.1", 0) as server:
        proxy.url = "redis://{}:{}".format(*server.sockets[0].getsockname())
        yield proxy
        await proxy.end()
