"""Say what can go wrong for a client of a hub.

    Exception
    +-- ClientError
        +-- Refused                    the hub turned a command down; it left no trace
        +-- HandshakeFailed            the hub let no stream open, and will not later either
        |   +-- AuthenticationFailed   the token is missing, wrong, expired or revoked
        |   +-- MatchNotFound          there is no such match
        +-- Closed                     the stream is over for good

A lost connection is none of these: the client makes another one and goes on.
"""

from protocol.messages import Error


class ClientError(Exception):
    """What any part of the client library raises."""


class Refused(ClientError):
    """A command was turned down and left no trace; `code` is an ErrorCode, or newer than those."""

    def __init__(self, error: Error) -> None:
        super().__init__(error.code, error.message)
        self.code = error.code
        self.message = error.message
        self.retry_ms = error.retry_ms

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class HandshakeFailed(ClientError):
    """The hub answered with an HTTP error that trying again will not change."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(status, reason)
        self.status = status
        self.reason = reason

    def __str__(self) -> str:
        return f"HTTP {self.status}: {self.reason}"


class AuthenticationFailed(HandshakeFailed):
    """The token is missing, wrong, expired or revoked."""


class MatchNotFound(HandshakeFailed):
    """There is no such match."""


class Closed(ClientError):
    """The stream is over for good; `code` is a WebSocket close code."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(code, reason)
        self.code = code
        self.reason = reason

    def __str__(self) -> str:
        return f"closed with {self.code}: {self.reason}"
