import pytest

from hub.rules.match import table_state
from protocol.client.resume import Cursor, Gap
from protocol.client.table import TableMessage
from protocol.messages import (
    AnyEvent,
    DeadlineMoved,
    MatchId,
    Presence,
    Snapshot,
)
from tests.rules.matches import play

PLAYED = play()
END = PLAYED.log[-1].seq


def event(seq: int, match_id: str = "m0") -> AnyEvent:
    return DeadlineMoved(
        match_id=MatchId(match_id),
        seq=seq,
        ts=0,
        round=1,
        turn=1,
        seat=0,
        deadline=0,
        reason="outage",
    )


def snapshot(seq: int, match_id: str = "m0") -> Snapshot:
    match = PLAYED.end if seq == END else PLAYED.states[0]
    state = table_state(match, [True] * 4)
    return Snapshot(match_id=MatchId(match_id), seq=seq, state=state, spectators=0)


def accepted(cursor: Cursor, *messages: TableMessage) -> list[int]:
    """Return the numbers of the messages that were news."""
    return [getattr(each, "seq", 0) for each in messages if cursor.accept(each)]


def test_events_in_order_are_news() -> None:
    assert accepted(Cursor(), *PLAYED.log) == [each.seq for each in PLAYED.log]


def test_an_event_is_news_once() -> None:
    assert accepted(Cursor(), event(1), event(1), event(2), event(1), event(3)) == [1, 2, 3]


def test_an_event_too_far_is_a_gap() -> None:
    cursor = Cursor("m0", 5)
    with pytest.raises(Gap, match="event 7 of match m0 after event 5"):
        cursor.accept(event(7))


def test_a_gap_does_not_move_the_cursor() -> None:
    cursor = Cursor("m0", 5)
    with pytest.raises(Gap):
        cursor.accept(event(7))
    assert cursor.query == "?after=5&match_id=m0"


def test_another_match_starts_with_its_first_event() -> None:
    assert accepted(Cursor("m0", 5), event(1, "m1"), event(2, "m1")) == [1, 2]


def test_a_start_missed_is_a_gap_from_the_beginning() -> None:
    cursor = Cursor("m0", 5)
    with pytest.raises(Gap):
        cursor.accept(event(3, "m1"))
    assert cursor.query == "?after=0&match_id=m1"


def test_an_event_where_a_snapshot_is_due_is_a_gap_from_the_beginning() -> None:
    cursor = Cursor("m0")
    with pytest.raises(Gap):
        cursor.accept(event(3))
    assert cursor.query == "?after=0&match_id=m0"


@pytest.mark.parametrize("seq", [2, 9])
def test_a_snapshot_moves_the_cursor_either_way(seq: int) -> None:
    cursor = Cursor("m0", 5)
    assert accepted(cursor, snapshot(seq), event(seq + 1)) == [seq, seq + 1]


def test_presence_is_news_of_the_same_match_only() -> None:
    here, elsewhere = (
        Presence(match_id=MatchId(each), seat=0, connected=True) for each in ("m0", "m1")
    )
    cursor = Cursor("m0", 1)
    assert [cursor.accept(here), cursor.accept(elsewhere)] == [True, False]


@pytest.mark.parametrize("seq", [None, 0])
def test_presence_is_no_news_of_a_table_not_seen_yet(seq: int | None) -> None:
    cursor = Cursor("m0", seq)
    assert not cursor.accept(Presence(match_id=MatchId("m0"), seat=0, connected=True))


def test_nothing_known_starts_anew() -> None:
    assert [Cursor().query, Cursor("m0").query] == ["", ""]


def test_a_finished_match_is_not_resumed() -> None:
    cursor = Cursor("m0", END - 1)
    cursor.accept(PLAYED.log[-1])
    assert (cursor.finished, cursor.query) == (True, "")


def test_a_finished_table_is_not_resumed() -> None:
    cursor = Cursor()
    cursor.accept(snapshot(END))
    assert (cursor.finished, cursor.query) == (True, "")


def test_a_match_after_a_finished_one_is_resumed() -> None:
    cursor = Cursor("m0", END - 1)
    assert accepted(cursor, PLAYED.log[-1], event(1, "m1")) == [END, 1]
    assert (cursor.finished, cursor.query) == (False, "?after=1&match_id=m1")


def test_a_number_without_a_known_type_moves_the_cursor() -> None:
    cursor = Cursor("m0", 5)
    assert cursor.step("m0", 6)
    assert accepted(cursor, event(7)) == [7]


def test_a_forgotten_match_starts_anew() -> None:
    cursor = Cursor("m0", 5)
    cursor.forget()
    assert (cursor.query, accepted(cursor, snapshot(9))) == ("", [9])
