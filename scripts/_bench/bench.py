"""Hold what all benches share: a store, hubs on it, a dealer, and which core runs what."""

import itertools
import os
import secrets
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path

from hub.store.embedded import EmbeddedValkey
from hub.store.keys import Keys
from hub.store.link import Link
from hub.store.tables import Tables

from .crowd import Crowd
from .dealer import Dealer
from .hub import HubProcess
from .process import cores, raise_file_limit

SLOTS = 16  # the hub's default

_numbers = itertools.count()


class Bench:
    """One run on one machine: the measured server on one core, everything else on the other.

    `peers` are other people's servers to measure, too, where a bench can.
    """

    def __init__(
        self,
        exits: AsyncExitStack,
        redis_url: str,
        folder: Path,
        repeats: int,
        peers: Sequence[str],
    ) -> None:
        self.repeats = repeats
        self.peers = peers
        self.server_core, self.other_core = cores()
        self.file_limit = raise_file_limit()
        self.redis_url = redis_url
        self.prefix = f"bench-{secrets.token_hex(3)}:"
        self.keys = Keys(self.prefix, SLOTS)
        self.link = Link(redis_url)
        self.tables = Tables(self.link, self.keys)
        self.dealer = Dealer(self.tables)
        self._folder = folder
        exits.push_async_callback(self.link.close)

    def hub(self, core: int | None = None) -> HubProcess:
        """Start a hub, on the server's core if no other is named."""
        core = self.server_core if core is None else core
        return HubProcess.start(self.redis_url, self.prefix, self._folder, core)

    @contextmanager
    def on_server_core(self) -> Iterator[None]:
        """Let this process do what a server would."""
        os.sched_setaffinity(0, {self.server_core})
        try:
            yield
        finally:
            os.sched_setaffinity(0, {self.other_core})

    async def clear(self) -> None:
        """Forget all tables: a hub that starts looks after those that no hub has watched."""
        await self.link.call("FLUSHALL")

    def crowd(self, *, nice: int = 0, lazy: bool = False) -> Crowd:
        """Start clients that cost little: see Crowd."""
        return Crowd(self.other_core, nice=nice, lazy=lazy)


@asynccontextmanager
async def open_bench(
    repeats: int, *, fsync: bool, peers: Sequence[str] = ()
) -> AsyncIterator[Bench]:
    """Start a store of its own on the core that is not the server's."""
    _, other = cores()
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {other})  # the store's process inherits it
    try:
        async with AsyncExitStack() as exits:
            folder = Path(exits.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
            store = EmbeddedValkey(folder, fsync=fsync)
            url = await store.start()
            exits.push_async_callback(store.stop)
            os.sched_setaffinity(0, before)
            bench = Bench(exits, url, folder, repeats, peers)
            os.sched_setaffinity(0, {other})
            yield bench
    finally:
        os.sched_setaffinity(0, before)
