"""Times that only the store knows, as stand-ins that it fills in at the commit.

The rules make events and states that hold times counted from the moment of the commit, which is
the store's to say. Until then such a time is a `Stamp`; packed, it is eight reserved bytes, and
`stamps` tells commit.lua where they are and what to write there.
"""

import secrets
from collections.abc import Iterable
from typing import Any, cast

import msgspec

from hub.rules.match import Moment

# A stamp is packed as this 64-bit number until the store replaces it. It is random in each
# process, so no text that anyone sends and no other number can pass for it.
_PLACEHOLDER = secrets.randbits(62) | 1 << 63
_PACKED_PLACEHOLDER = msgspec.msgpack.encode(_PLACEHOLDER)
_NUMBER_OFFSET = 1  # msgpack's type byte stands before the eight bytes of the number

_LENGTH_BYTES = 4
_EMPTY_BIN = b"\xc6" + bytes(_LENGTH_BYTES)  # msgpack's bin 32


class Stamp:
    """The time max(floor, now + add), `now` being the moment of the commit; all in ms."""

    __slots__ = ("add", "floor")

    def __init__(self, add: int = 0, floor: int = 0) -> None:
        self.add = add
        self.floor = floor

    def __add__(self, ms: int) -> "Stamp":
        return Stamp(self.add + ms, self.floor + ms)

    __radd__ = __add__

    def __sub__(self, ms: int) -> "Stamp":
        return Stamp(self.add - ms, self.floor - ms)


class AtCommit(Moment, frozen=True):
    """The moment of a commit that has yet to happen."""

    def longest(self, before_ms: int, since_ms: int) -> int:
        """Return the longer of `before_ms` and the time from `since_ms` to the commit."""
        return Stamp(-since_ms, before_ms)  # type: ignore[return-value]


AT_COMMIT = AtCommit(now_ms=cast(int, Stamp()))


class Stamped(msgspec.Struct, frozen=True):
    """Packed values, each as one msgpack `bin`, back to back, with gaps for the stamps.

    `spans` are the first and the last byte of each packed value, `stamps` the offset, add and
    floor of each gap; both flat, counted from 1 as Lua does where they name a byte.
    """

    packed: bytes
    spans: list[int]
    stamps: list[int]


class _Packer:
    """Packs values and collects their stamps, in the order in which these are packed."""

    def __init__(self) -> None:
        self._found: list[Stamp] = []
        self._encode_into = msgspec.msgpack.Encoder(enc_hook=self._hold).encode_into

    def _hold(self, value: Any) -> int:
        if not isinstance(value, Stamp):
            raise TypeError(f"can't pack a {type(value).__name__}")
        self._found.append(value)
        return _PLACEHOLDER

    def pack(self, head: bytes, values: Iterable[Any]) -> Stamped:
        """Pack values, after a head that is packed already."""
        self._found = []
        buffer = bytearray(head)
        spans: list[int] = []
        for value in values:
            start = len(buffer) + len(_EMPTY_BIN)
            buffer += _EMPTY_BIN
            self._encode_into(value, buffer, -1)
            end = len(buffer)
            buffer[start - _LENGTH_BYTES : start] = (end - start).to_bytes(_LENGTH_BYTES)
            spans += (start + 1, end)
        stamps: list[int] = []
        at = -1
        for stamp in self._found:
            at = buffer.index(_PACKED_PLACEHOLDER, at + 1)
            stamps += (at + _NUMBER_OFFSET, stamp.add, stamp.floor)
        return Stamped(bytes(buffer), spans, stamps)


pack = _Packer().pack
