"""Send frames with nothing but send(): native/floor.c, or Python's socket where there is no gcc."""

import socket
import sys

from .compiler import build
from .process import Program

BACKLOG = 4096


class Floor:
    """A server that writes to its sockets when told to, and does nothing else."""

    def __init__(self, core: int) -> None:
        native = build("floor")
        self.is_native = native is not None
        self.program = (
            Program([str(native)], core) if native else Program.python("floor", core=core)
        )
        self.port = int(self.program.read())

    def __enter__(self) -> "Floor":
        return self

    def __exit__(self, *_: object) -> None:
        self.program.stop()

    def accept(self, count: int) -> None:
        """Take what has connected, so that there are `count` sockets."""
        self.program.ask(f"accept {count}")

    def send(self, moves: int, size: int) -> None:
        """Send a frame to each socket, so many times."""
        self.program.ask(f"send {moves} {size}")


def _main() -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
    print(listener.getsockname()[1], flush=True)
    sockets: list[socket.socket] = []
    for line in sys.stdin:
        match line.split():
            case ["accept", count]:
                while len(sockets) < int(count):
                    sockets.append(listener.accept()[0])
            case ["send", moves, size]:
                frame = bytes(int(size))
                for _ in range(int(moves)):
                    for each in sockets:
                        each.send(frame)
        print("done", flush=True)


if __name__ == "__main__":
    _main()
