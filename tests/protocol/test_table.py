import pytest
from hypothesis import given

from hub.rules.match import Match, table_state
from protocol.client.table import TableMessage, apply
from protocol.messages import (
    Crowd,
    MatchId,
    Presence,
    RoundStarted,
    Snapshot,
    TableState,
)
from tests.rules.matches import Played, absent_match, any_match, play, thorough


def shown(match: Match) -> TableState:
    return table_state(match, [True] * len(match.players))


def followed(state: TableState | None, played: Played, after: int) -> dict[int, TableState]:
    """Apply the events after one to a table; what it is after each."""
    states = {}
    for event in played.log[after:]:
        state = states[event.seq] = apply(state, event)
    return states


def snapshots(played: Played) -> dict[int, TableState]:
    return {match.seq: shown(match) for match in played.states}


@given(any_match | absent_match)
@thorough
def test_events_lead_to_what_snapshots_show(played: Played) -> None:
    states = followed(None, played, after=0)
    assert {seq: states[seq] for seq in snapshots(played)} == snapshots(played)


@given(any_match)
@thorough
def test_a_snapshot_is_as_good_as_the_events_before_it(played: Played) -> None:
    middle = played.states[len(played.states) // 2]
    states = followed(shown(middle), played, after=middle.seq)
    expected = {seq: state for seq, state in snapshots(played).items() if seq > middle.seq}
    assert {seq: states[seq] for seq in expected} == expected


def test_a_snapshot_replaces_the_table() -> None:
    first, *_, last = play().states
    snapshot = Snapshot(match_id=MatchId("m0"), seq=last.seq, state=shown(last), spectators=0)
    assert apply(shown(first), snapshot) == shown(last)


def test_a_new_match_replaces_the_table() -> None:
    state = apply(shown(play().end), play(1).log[0])
    assert (state.round, state.status, state.casinos) == (0, "playing", ())


def test_presence_changes_one_seat() -> None:
    match = play().states[0]
    gone = Presence(match_id=match.match_id, seat=2, connected=False)
    state = apply(shown(match), gone)
    assert state == table_state(match, [True, True, False, True])


def test_a_crowd_changes_nothing() -> None:
    match = play().states[0]
    crowd = Crowd(match_id=match.match_id, spectators=3)
    assert apply(shown(match), crowd) == shown(match)


def test_no_seat_has_a_turn_between_a_placement_and_the_next_roll() -> None:
    played = play(absence=0.0, outages=0.0)
    states = followed(None, played, after=0)
    state = states[played.placements()[0].seq]
    assert (state.current_seat, state.roll, state.legal_actions) == (None, (), ())


@pytest.mark.parametrize("kind", [RoundStarted, Presence])
def test_a_table_starts_with_a_snapshot_or_match_started(kind: type[TableMessage]) -> None:
    message = Presence(match_id=MatchId("m0"), seat=0, connected=True)
    messages = [*play().log, message]
    early = next(each for each in messages if isinstance(each, kind))
    with pytest.raises(ValueError, match=f"{kind.__name__} before a snapshot or match_started"):
        apply(None, early)
