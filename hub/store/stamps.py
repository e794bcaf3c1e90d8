"""Times that only the store knows, as stand-ins that it fills in at the commit.

The rules make events and states that hold times counted from the moment of the commit, which is
the store's to say. Until then such a time is a `Stamp`, and packs as STAMP_BYTES that begin with
MARK; commit.lua puts a time of TIME_BYTES in their place.
"""

import secrets
from typing import cast

import msgspec

from hub.rules.match import Moment

# It is random in each process, so no text that anyone sends can pass for a stamp.
_NUMBER = secrets.randbits(62) | 1 << 63

_pack = msgspec.msgpack.Encoder().encode


class Stamp(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The time max(floor, now + add), `now` being the moment of the commit; all in whole ms.

    They are floats as msgpack has one size for these only.
    """

    number: int
    add: float
    floor: float

    def __add__(self, ms: int) -> "Stamp":
        return Stamp(_NUMBER, self.add + ms, self.floor + ms)

    __radd__ = __add__

    def __sub__(self, ms: int) -> "Stamp":
        return Stamp(_NUMBER, self.add - ms, self.floor - ms)


class AtCommit(Moment, frozen=True):
    """The moment of a commit that has yet to happen."""

    def longest(self, before_ms: int, since_ms: int) -> int:
        """Return the longer of `before_ms` and the time from `since_ms` to the commit."""
        return cast(int, Stamp(_NUMBER, -float(since_ms), float(before_ms)))


NOW = Stamp(_NUMBER, 0.0, 0.0)
AT_COMMIT = AtCommit(now_ms=cast(int, NOW))

STAMP_BYTES, TIME_BYTES = len(_pack(NOW)), 9
MARK = _pack(NOW)[:10]  # the array's first byte, and the number
