"""Speak WebSocket over a raw socket, as cheaply as Python can: so that little is measured of it."""

import socket
import struct
import time

HEADER = b"\r\n\r\n"
UPGRADE = (
    "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n{headers}\r\n"
)
RECEIVE_BYTES = 256 * 1024
NARROW_BYTES = 4096  # the kernel is asked to hold so much for a reader; it takes twice as many
SEGMENT_BYTES = 1448  # of Ethernet: on those of the loopback, the sender's kernel buffers 2.5 MB
STAMPS = 35  # SO_TIMESTAMPNS: the kernel notes when each packet comes, by the real-time clock
STAMP = struct.Struct("qq")  # seconds and ns
NO_MASK = bytes(4)  # a mask of zeros leaves the payload as it is
PING, PONG = 0x89, b"\x8a\x80" + NO_MASK
SHORT, MEDIUM = 126, 127  # the first lengths that take two and eight bytes (RFC 6455, 5.2)


class Wire:
    """One open WebSocket, blocking; it answers pings. A narrow one has small kernel buffers.

    `sent_ns` is when the last message was about to be written, and `arrived_ns` when the kernel
    had what was taken last; so neither counts what a busy reader adds.
    """

    def __init__(self, port: int, path: str, *headers: str, narrow: bool = False) -> None:
        self.sent_ns = self.arrived_ns = 0
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, STAMPS, 1)
        if narrow:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, NARROW_BYTES)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, SEGMENT_BYTES)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        lines = "".join(f"{header}\r\n" for header in headers)
        self.socket.sendall(UPGRADE.format(path=path, port=port, headers=lines).encode())
        self._rest = b""
        self._rest = self._shake()

    def send(self, payload: bytes) -> None:
        """Send one binary message of less than 64 KiB."""
        framed = frame(payload)
        self.sent_ns = time.time_ns()
        self.socket.sendall(framed)

    def take(self, most: int = RECEIVE_BYTES) -> list[bytes]:
        """Receive once; the messages that are complete by now. Raises EOFError at the end."""
        data, notes, _, _ = self.socket.recvmsg(most, socket.CMSG_SPACE(STAMP.size))
        if not data:
            raise EOFError("the server has closed the connection")
        # Without a note, the kernel has only begun to take the time.
        seconds, ns = STAMP.unpack(notes[0][2]) if notes else (0, time.time_ns())
        self.arrived_ns = seconds * 1_000_000_000 + ns
        return self._split(data)

    def buffered(self) -> list[bytes]:
        """Take the messages that came with the handshake."""
        return self._split(b"")

    def close(self) -> None:
        """Close without a word."""
        self.socket.close()

    def _split(self, data: bytes) -> list[bytes]:
        frames, self._rest = split(self._rest + data)
        for first, _ in frames:
            if first == PING:
                self.socket.sendall(PONG)
        return [payload for first, payload in frames if first != PING]

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


def split(data: bytes) -> tuple[list[tuple[int, bytes]], bytes]:
    """Split what a server sent into frames, as first byte and payload, and the rest."""
    frames, at, end = [], 0, len(data)
    while at + 2 <= end:
        size, start = data[at + 1], at + 2
        if size == SHORT:
            size, start = int.from_bytes(data[at + 2 : at + 4]), at + 4
        elif size == MEDIUM:
            size, start = int.from_bytes(data[at + 2 : at + 10]), at + 10
        if start > end or start + size > end:
            break
        frames.append((data[at], data[start : start + size]))
        at = start + size
    return frames, data[at:]
