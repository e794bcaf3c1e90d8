import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import uvloop

from hub.store.feed import Feed
from hub.store.link import Link, StoreUnavailable

RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER for 0 s
ATTEMPTS = 1_000  # of which one in 40 meets the worst moment


@contextmanager
def resetting_server() -> Iterator[int]:
    """Accept connections and reset them at once, from a thread: at any moment for the client."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
                    connection.close()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def test_a_connection_that_is_reset_at_any_moment_is_an_unavailable_store() -> None:
    async def connect(port: int) -> None:
        for _ in range(ATTEMPTS):
            link = Link(f"redis://127.0.0.1:{port}/0")
            with pytest.raises(StoreUnavailable):
                await Feed(link, "probe").start()
            await link.close()

    with (
        resetting_server() as port,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,  # what a hub runs on
    ):
        runner.run(connect(port))
