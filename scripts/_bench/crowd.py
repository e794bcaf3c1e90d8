"""Hold many WebSockets cheaply, in a process of their own: native/crowd.c, or else Python."""

from .compiler import build
from .process import Program

OPEN_AT_ONCE = 64  # handshakes under way, within any server's backlog


LAZY_US = 300


class Crowd:
    """Clients that count what they get.

    Lazy ones look at their sockets only so often. Like clients on other machines, they cost the
    sender no wake-up for each message, but they are no good for measuring latency.
    """

    def __init__(self, core: int, *, nice: int = 0, lazy: bool = False) -> None:
        native = build("crowd")
        arguments = [str(LAZY_US)] if lazy else []
        self.program = (
            Program.python("crowd_python", *arguments, core=core, nice=nice)
            if native is None
            else Program([str(native), *arguments], core, nice=nice)
        )

    def __enter__(self) -> "Crowd":
        return self

    def __exit__(self, *_: object) -> None:
        self.program.stop()

    def add(
        self, count: int, path: str = "", *, group: int = 0, headers: str = "", hello: str = ""
    ) -> None:
        """Plan sockets to `path`, plain ones if that is empty; `hello` is what each says first."""
        self.program.tell(f"add {count} {group}", path, headers.replace("\r\n", "\\r\\n"), hello)

    def start_opening(self, port: int, at_once: int = OPEN_AT_ONCE) -> None:
        """Begin to open what is planned; `opened` is to follow."""
        self.program.tell(f"open 127.0.0.1 {port} {at_once}")

    def opened(self) -> None:
        """Wait until all are open. Raises ConnectionError if some could not be opened."""
        _, count, failed = self.program.read().split()
        if int(failed):
            raise ConnectionError(f"{failed} of {count} sockets could not be opened")

    def open(
        self, port: int, count: int, path: str = "", *, group: int = 0, hello: str = ""
    ) -> None:
        """Open sockets: see `add`."""
        self.add(count, path, group=group, hello=hello)
        self.start_opening(port)
        self.opened()

    def expect(self, group: int, size: int, asked_ns: int = 0) -> None:
        """Let each socket of a group wait for so many bytes more."""
        self.program.tell(f"expect {group} {size} {asked_ns}")

    def wait(self, seconds: float = 60.0) -> None:
        """Wait until all have got what they are to get. Raises TimeoutError."""
        missing = int(self.program.ask(f"wait {seconds}").split()[1])
        if missing:
            raise TimeoutError(f"{missing} sockets have not got all bytes")

    def settle(self, ms: int = 200) -> int:
        """Read until nothing more comes, and forget what was expected; all bytes so far."""
        return int(self.program.ask(f"settle {ms}").split()[1])

    def latencies(self) -> list[float]:
        """Take the times from asking to the last byte since the last call, in seconds."""
        return [int(ns) / 1e9 for ns in self.program.ask("latencies").split()[2:]]

    def first_bytes(self) -> list[float]:
        """List how long each socket took from its opening to its first message; 0: it got none."""
        return [int(ns) / 1e9 for ns in self.program.ask("times").split()[2:]]

    def echo(self, seconds: float, size: int) -> int:
        """Keep one message under way on each socket; how many came back."""
        return int(self.program.ask(f"echo {seconds} {size}").split()[1])

    def close(self) -> None:
        """Close all sockets."""
        self.program.ask("close")
