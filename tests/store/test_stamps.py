import itertools
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.store.keys import Keys
from hub.store.link import Link, Script
from hub.store.stamps import AT_COMMIT, MARK, NOW, STAMP_BYTES, Stamp
from protocol.messages import INTEGER_LIMIT
from tests.store.parts import unhurried

NOW_LIMIT_MS = 2**43  # a time that the store's clock reaches in the year 2248

COMMIT = Script("commit")

_ids = itertools.count()


def stamp(add: int, floor: int) -> Stamp:
    """Make a stamp by what the rules can do: count from the moment, and choose the longest."""
    return cast(Stamp, AT_COMMIT.longest(floor, -add))


stamps = st.builds(
    stamp,
    st.integers(-INTEGER_LIMIT, INTEGER_LIMIT - NOW_LIMIT_MS),
    st.integers(0, INTEGER_LIMIT),
)
scalars = st.one_of(
    stamps,
    st.none(),
    st.booleans(),
    st.integers(-INTEGER_LIMIT, INTEGER_LIMIT),
    st.text(),
    st.binary(),
    st.sampled_from([MARK[:5] * 60, MARK[3:]]),  # no more can be guessed of it
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=30
)


class Kept(msgspec.Struct, frozen=True):
    """What the store has after a commit."""

    now: int
    state: bytes
    record: bytes
    log: tuple[bytes, ...]


async def commit(
    link: Link, keys: Keys, state: Any, record: Any = None, events: Sequence[Any] = ()
) -> Kept:
    """Run commit.lua on a new match; what it has kept."""
    id = f"m{next(_ids)}"
    plan = (1_000, 0, None)
    packed_plan, *payloads = map(msgspec.msgpack.encode, (plan, state, record, *events))
    arguments = (id, 0, "any", "key", "seed", packed_plan, MARK)
    reply = await link.run(COMMIT, keys.of_commit(id), *arguments, *payloads)
    now, public, kept = await link.call("HMGET", keys.match(id), "ts", "public", "key")
    assert reply == [b"committed", kept]
    log = await link.call("XRANGE", keys.log(id), "-", "+")
    return Kept(int(now), public, kept, tuple(fields[1] for _, fields in log))


def stamped(value: Any, now: int) -> Any:
    """Put each stamp's time in its place, as the eight bytes that are reserved for it."""
    if isinstance(value, Stamp):
        time = int(max(value.floor, now + value.add))
        return msgspec.Raw(b"\xcf" + time.to_bytes(8, "big"))
    if isinstance(value, list):
        return [stamped(each, now) for each in value]
    if isinstance(value, dict):
        return {key: stamped(each, now) for key, each in value.items()}
    return value


def expected(value: Any, now: int) -> bytes:
    return msgspec.msgpack.encode(stamped(value, now))


@given(state=values, record=values, events=st.lists(values, max_size=4))
@unhurried
async def test_the_store_fills_in_every_stamp_and_changes_no_other_byte(
    link: Link, keys: Keys, state: Any, record: Any, events: list[Any]
) -> None:
    kept = await commit(link, keys, state, record, events)
    assert kept == Kept(
        now=kept.now,
        state=expected(state, kept.now),
        record=expected(record, kept.now),
        log=tuple(expected(each, kept.now) for each in events),
    )


@pytest.mark.parametrize("limit", [0, 1, 2**31, 2**32, INTEGER_LIMIT - 1, INTEGER_LIMIT])
async def test_a_stamp_holds_numbers_as_large_as_the_protocol_s(
    link: Link, keys: Keys, limit: int
) -> None:
    kept = await commit(link, keys, stamp(-INTEGER_LIMIT, limit))
    assert msgspec.msgpack.decode(kept.state) == limit


async def test_the_moment_of_a_commit_is_the_store_s_time(link: Link, keys: Keys) -> None:
    seconds, micros = await link.call("TIME")
    kept = await commit(link, keys, AT_COMMIT.now_ms)
    later_seconds, later_micros = await link.call("TIME")
    before_ms = int(seconds) * 1000 + int(micros) // 1000
    after_ms = int(later_seconds) * 1000 + int(later_micros) // 1000
    assert before_ms <= msgspec.msgpack.decode(kept.state) == kept.now <= after_ms


@pytest.mark.parametrize("before_ms", [0, INTEGER_LIMIT])
async def test_the_longest_of_two_times_is_chosen_at_the_commit(
    link: Link, keys: Keys, before_ms: int
) -> None:
    since_ms = 1_000_000
    kept = await commit(link, keys, AT_COMMIT.longest(before_ms, since_ms))
    assert msgspec.msgpack.decode(kept.state) == max(before_ms, kept.now - since_ms)


def test_a_time_can_be_moved_and_counted_from() -> None:
    moment = cast(Stamp, AT_COMMIT.now_ms)
    sums = [moment + 90, 90 + moment, moment - 90, 7 + (moment - 90) + 3]
    assert [(each.add, each.floor) for each in sums] == [(90, 90), (90, 90), (-90, -90), (-80, -80)]


@pytest.mark.parametrize("add", [0, 1, -1, INTEGER_LIMIT, -INTEGER_LIMIT])
def test_a_stamp_takes_the_same_room_whatever_it_is(add: int) -> None:
    for each in (stamp(add, abs(add)), NOW + add, NOW - add):
        packed = msgspec.msgpack.encode(each)
        assert (len(packed), packed[: len(MARK)]) == (STAMP_BYTES, MARK)


def test_what_marks_a_stamp_differs_from_process_to_process() -> None:
    program = "from hub.store.stamps import MARK; print(MARK.hex())"
    other = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert len(bytes.fromhex(other.stdout)) == len(MARK)
    assert bytes.fromhex(other.stdout) != MARK
