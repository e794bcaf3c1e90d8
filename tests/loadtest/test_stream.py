import pytest

from scripts._loadtest.stream import Glance, Stream
from scripts._loadtest.tally import Tally


def _event(seq: int, match_id: str = "m") -> Glance:
    return Glance("placed", match_id=match_id, seq=seq, ts=1)


def _snapshot(seq: int, skipped: int = 0) -> Glance:
    return Glance("snapshot", match_id="m", seq=seq, skipped=skipped)


@pytest.mark.parametrize(
    ("messages", "seen"),
    [
        ([_event(1), _event(2), _event(3)], Tally()),
        ([_event(1), _event(3)], Tally(gaps=1)),
        ([_event(1), _event(1), _event(2)], Tally(duplicates=1)),
        ([_event(2)], Tally(gaps=1)),
        ([_snapshot(7), _event(8)], Tally()),
        ([_event(1), _snapshot(7, skipped=5), _event(8)], Tally(skipped=5)),
        ([_event(1), _event(1, "another")], Tally()),
        ([_event(1), Glance("presence", match_id="m"), _event(2)], Tally()),
    ],
)
def test_gaps_and_duplicates_are_counted(messages: list[Glance], seen: Tally) -> None:
    stream, tally = Stream(), Tally()
    for message in messages:
        stream.note(message, tally)
    assert tally == seen


def test_a_stream_resumes_after_its_last_event() -> None:
    stream = Stream()
    stream.note(_event(1), Tally())
    assert stream.query == "?after=1&match_id=m"


def test_a_stream_that_ended_starts_anew() -> None:
    stream = Stream()
    stream.note(_event(1), Tally())
    stream.end()
    assert stream.query == ""
