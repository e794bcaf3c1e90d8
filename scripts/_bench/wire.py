"""Speak WebSocket over a raw socket, as cheaply as Python can: so that little is measured of it."""

import socket

HEADER = b"\r\n\r\n"
UPGRADE = (
    "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n{headers}\r\n"
)
RECEIVE_BYTES = 256 * 1024
NO_MASK = bytes(4)  # a mask of zeros leaves the payload as it is
SHORT, MEDIUM = 126, 127  # the first lengths that take two and eight bytes (RFC 6455, 5.2)


class Wire:
    """One open WebSocket, blocking; `take` returns payloads, whatever their kind."""

    def __init__(self, port: int, path: str, *headers: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        lines = "".join(f"{header}\r\n" for header in headers)
        self.socket.sendall(UPGRADE.format(path=path, port=port, headers=lines).encode())
        self._rest = b""
        self._rest = self._shake()

    def send(self, payload: bytes) -> None:
        """Send one binary message of less than 64 KiB."""
        self.socket.sendall(frame(payload))

    def take(self) -> list[bytes]:
        """Receive once; the messages that are complete by now. Raises EOFError at the end."""
        data = self.socket.recv(RECEIVE_BYTES)
        if not data:
            raise EOFError("the server has closed the connection")
        payloads, self._rest = split(self._rest + data)
        return payloads

    def buffered(self) -> list[bytes]:
        """Take the messages that came with the handshake."""
        payloads, self._rest = split(self._rest)
        return payloads

    def close(self) -> None:
        """Close without a word."""
        self.socket.close()

    def _shake(self) -> bytes:
        answer = b""
        while HEADER not in answer:
            data = self.socket.recv(RECEIVE_BYTES)
            if not data:
                raise EOFError("the server has refused the connection")
            answer += data
        head, _, rest = answer.partition(HEADER)
        if b" 101 " not in head:
            raise ConnectionError((head + rest).decode())
        return rest


def frame(payload: bytes) -> bytes:
    """Frame a client's binary message."""
    size = len(payload)
    length = bytes([0x80 | size]) if size < SHORT else b"\xfe" + size.to_bytes(2)
    return b"\x82" + length + NO_MASK + payload


def split(data: bytes) -> tuple[list[bytes], bytes]:
    """Split what a server sent into payloads and the rest."""
    payloads, at, end = [], 0, len(data)
    while at + 2 <= end:
        size, start = data[at + 1], at + 2
        if size == SHORT:
            size, start = int.from_bytes(data[at + 2 : at + 4]), at + 4
        elif size == MEDIUM:
            size, start = int.from_bytes(data[at + 2 : at + 10]), at + 10
        if start > end or start + size > end:
            break
        payloads.append(data[start : start + size])
        at = start + size
    return payloads, data[at:]
