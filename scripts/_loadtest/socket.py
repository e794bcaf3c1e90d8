"""Hold one client's connection: messages are looked at as they come, without a task or a queue."""

from collections.abc import Callable
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidHandshake, InvalidStatus
from websockets.frames import Frame, Opcode
from websockets.protocol import Event
from websockets.typing import Subprotocol

from protocol.messages import MSGPACK_SUBPROTOCOL

OPEN_SECONDS = 10.0  # for an opening handshake
CLOSE_SECONDS = 1.0
NO_STATUS = 1006  # what a connection that just ended is said to have been closed with (RFC 6455)

OnMessage = Callable[[bytes], None]


class CannotConnect(Exception):
    """A connection could not be made; `reason` is short, for counting."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class LoadConnection(ClientConnection):
    """A connection that hands each message on the moment it is parsed."""

    on_message: OnMessage | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.early: list[bytes] = []
        self.failure: Exception | None = None  # of ours, while a message was looked at

    def process_event(self, event: Event) -> None:
        """Take messages; leave everything else to the library. Hubs never send fragments."""
        if isinstance(event, Frame) and event.opcode is Opcode.BINARY:
            data = bytes(event.data)
            if self.on_message is None:
                self.early.append(data)
            else:
                self._hand_on(data)
        else:
            super().process_event(event)

    def _hand_on(self, data: bytes) -> None:
        assert self.on_message is not None
        try:
            self.on_message(data)
        except Exception as error:  # the library would take it for a fault of the connection's
            self.failure = error
            self.transport.abort()

    def listen(self, on_message: OnMessage) -> None:
        """Hand messages on from now on, and those that have come already."""
        self.on_message = on_message
        for data in self.early:
            self._hand_on(data)
        self.early = []

    def post(self, data: bytes) -> None:
        """Send a message at once, unless the connection is gone."""
        if self.protocol.close_expected() or self.close_code is not None:
            return
        self.protocol.send_binary(data)
        self.send_data()


async def dial(url: str, token: str = "") -> LoadConnection:
    """Open a connection. Raises CannotConnect."""
    try:
        connection = await connect(
            url,
            additional_headers={"Authorization": f"Bearer {token}"} if token else None,
            subprotocols=[Subprotocol(MSGPACK_SUBPROTOCOL)],
            create_connection=LoadConnection,
            compression=None,
            open_timeout=OPEN_SECONDS,
            ping_interval=None,  # the hub's are enough
            close_timeout=CLOSE_SECONDS,
        )
    except InvalidStatus as error:
        raise CannotConnect(f"http {error.response.status_code}") from error
    except TimeoutError as error:
        raise CannotConnect("timeout") from error
    except (OSError, InvalidHandshake, EOFError) as error:
        raise CannotConnect(_name(error)) from error
    assert isinstance(connection, LoadConnection)
    return connection


async def closed(connection: LoadConnection) -> int:
    """Wait until a connection is closed; the code. Raises what failed while a message was taken."""
    await connection.wait_closed()
    if connection.failure is not None:
        raise connection.failure
    return connection.close_code or NO_STATUS


def _name(error: Exception) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "refused"
    if isinstance(error, ConnectionResetError):
        return "reset"
    return type(error).__name__
