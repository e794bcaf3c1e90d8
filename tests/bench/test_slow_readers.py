"""The bench's slow readers: they check that they are spared events and lose none."""

import msgspec

from scripts._bench.slow_readers import Glance, Seen, Stream


def seen(*glances: Glance) -> Seen:
    stream = Stream()
    for glance in glances:
        stream.follow(msgspec.msgpack.encode(glance))
    return stream.seen


SNAPSHOT = Glance("snapshot", seq=3)


def test_events_that_follow_the_snapshot_are_sound() -> None:
    assert seen(SNAPSHOT, Glance("placed", 4), Glance("crowd"), Glance("roll", 5)) == Seen()


def test_an_event_that_is_missing_is_lost() -> None:
    assert seen(SNAPSHOT, Glance("placed", 4), Glance("roll", 6)) == Seen(lost=1)


def test_a_snapshot_stands_for_the_events_that_were_spared() -> None:
    spared = Glance("snapshot", seq=9, skipped=5)
    assert seen(SNAPSHOT, Glance("placed", 4), spared) == Seen(spared=5)
    assert seen(SNAPSHOT, spared, Glance("roll", 10)) == Seen(spared=5, resumed=1)


def test_an_event_after_the_one_that_follows_such_a_snapshot_is_lost() -> None:
    spared = Glance("snapshot", seq=9, skipped=5)
    assert seen(SNAPSHOT, spared, Glance("roll", 11)) == Seen(spared=5, lost=1)
