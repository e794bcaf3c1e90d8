"""Run the bundled Valkey as hubs do by default: append-only, with an fsync before each answer."""

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urlsplit

import redis

from hub.store.embedded import EmbeddedValkey


class Store:
    """A Valkey that can be killed and paused, and comes back with its data."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._valkey = EmbeddedValkey(data_dir)
        self._pid = 0
        self.url = ""

    @property
    def socket(self) -> str:
        """The path of its unix socket; the same after each start."""
        return unquote(urlsplit(self.url).path)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            self.resume()
        await self._valkey.stop()

    async def start(self) -> None:
        """Start, and wait until its data are loaded."""
        self._valkey = EmbeddedValkey(self._data_dir)
        self.url = await self._valkey.start()
        with redis.Redis.from_url(self.url) as client:
            self._pid = int(client.info("server")["process_id"])

    async def kill(self) -> None:
        """Kill it by SIGKILL."""
        os.kill(self._pid, signal.SIGKILL)
        await self._valkey.stop()

    def pause(self) -> None:
        """Stop it by SIGSTOP."""
        os.kill(self._pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        os.kill(self._pid, signal.SIGCONT)
