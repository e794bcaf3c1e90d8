"""What chaos runs are judged by finds what is wrong."""

from collections.abc import Sequence
from typing import Any

import msgpack
import pytest
from msgspec.structs import replace

from scripts._chaos.attendance import Absence
from scripts._chaos.bots import Move
from scripts._chaos.plan import Fault
from scripts._chaos.verdict import Logs, Outcome, judge

SILENT = "bot-000"


def acknowledged(outcome: Outcome) -> Move:
    return next(move for move in outcome.moves if move.seq is not None)


def changed(outcome: Outcome, move: Move, **changes: Any) -> Sequence[Move]:
    return [replace(each, **changes) if each is move else each for each in outcome.moves]


def rewritten(logs: Logs, match_id: str, seq: int, **changes: Any) -> Logs:
    log = list(logs[match_id])
    log[seq - 1] = bytes(msgpack.packb({**msgpack.unpackb(log[seq - 1]), **changes}))
    return {**logs, match_id: log}


def found(outcome: Outcome) -> set[str]:
    return {trouble.what for trouble in judge(outcome).troubles}


def test_a_run_without_faults_is_good(quiet_outcome: Outcome) -> None:
    verdict = judge(quiet_outcome)
    assert (verdict.troubles, verdict.is_good) == ([], True)
    assert verdict.matches == len(quiet_outcome.logs)
    assert verdict.acknowledged + verdict.autos_silent == verdict.turns
    assert verdict.autos_explained == {}


def test_hp_that_came_from_nowhere_is_found(quiet_outcome: Outcome) -> None:
    assert not judge(replace(quiet_outcome, hp_difference=1)).is_good


def test_a_log_without_its_end_is_found(quiet_outcome: Outcome) -> None:
    (match_id, log), *_ = quiet_outcome.logs.items()
    logs = {**quiet_outcome.logs, match_id: log[:-1]}
    assert found(replace(quiet_outcome, logs=logs, prints={})) == {"log fails"}


def test_an_event_that_only_sockets_know_is_found(quiet_outcome: Outcome) -> None:
    (match_id, log), *_ = quiet_outcome.logs.items()
    logs = {**quiet_outcome.logs, match_id: log[:-1]}
    assert "differing event" in found(replace(quiet_outcome, logs=logs))


def test_an_event_that_differs_from_the_log_is_found(quiet_outcome: Outcome) -> None:
    place, *_ = quiet_outcome.prints
    prints = {**quiet_outcome.prints, place: {"msgpack": b"another digest"}}
    assert found(replace(quiet_outcome, prints=prints)) == {"differing event"}


@pytest.mark.parametrize("changes", [{"seq": 3}, {"face": 7}, {"turn": 99}, {"agent_id": SILENT}])
def test_an_acknowledged_move_that_is_not_in_the_log_is_found(
    quiet_outcome: Outcome, changes: dict[str, Any]
) -> None:
    moves = changed(quiet_outcome, acknowledged(quiet_outcome), **changes)
    assert found(replace(quiet_outcome, moves=moves)) == {"acknowledged move missing"}


def test_a_refused_move_that_is_in_the_log_is_found(quiet_outcome: Outcome) -> None:
    move = acknowledged(quiet_outcome)
    moves = changed(quiet_outcome, move, seq=None, refused="stale_turn")
    assert found(replace(quiet_outcome, moves=moves)) == {"refused move counted"}


def test_a_move_that_counted_twice_is_found(quiet_outcome: Outcome) -> None:
    move, other = [each for each in quiet_outcome.moves if each.seq is not None][:2]
    logs = rewritten(quiet_outcome.logs, other.match_id, other.seq or 0, nonce=move.nonce)
    outcome = replace(quiet_outcome, logs=logs, prints={})
    assert found(outcome) == {"counted twice", "acknowledged move missing", "log fails"}


def test_an_auto_placement_of_a_bot_that_was_there_is_found(quiet_outcome: Outcome) -> None:
    outcome = replace(quiet_outcome, silent=frozenset())
    assert found(outcome) == {"unexplained auto-placement"}


def test_an_auto_placement_of_a_bot_that_a_fault_kept_away_is_explained(
    quiet_outcome: Outcome,
) -> None:
    fault = Fault(kind="hub killed", target="hub 0", started=0)
    absence = Absence(agent_id=SILENT, fault=fault, started=0)
    outcome = replace(quiet_outcome, silent=frozenset(), absences=[absence], faults=[fault])
    verdict = judge(outcome)
    assert verdict.troubles == []
    assert verdict.autos_explained == {"hub killed": judge(quiet_outcome).autos_silent}


def test_an_auto_placement_while_a_fault_kept_all_hubs_closed_is_explained(
    quiet_outcome: Outcome,
) -> None:
    """The bot had lost its connection before, to a hub that had said bye."""
    fault = Fault(kind="hub stopped", target="hub 0", started=1, ended=2)
    absence = Absence(agent_id=SILENT, fault=None, started=0, ended=2**62)
    outcome = replace(quiet_outcome, silent=frozenset(), absences=[absence], faults=[fault])
    assert found(outcome) == set()


def test_no_rolling_restart_explains_an_auto_placement(quiet_outcome: Outcome) -> None:
    fault = Fault(kind="rolling restart", target="all hubs", started=0)
    absence = Absence(agent_id=SILENT, fault=None, started=0, ended=2**62)
    outcome = replace(quiet_outcome, silent=frozenset(), absences=[absence], faults=[fault])
    assert found(outcome) == {"unexplained auto-placement"}


def test_an_absence_before_a_turn_explains_nothing(quiet_outcome: Outcome) -> None:
    fault = Fault(kind="hub killed", target="hub 0", started=0)
    absence = Absence(agent_id=SILENT, fault=fault, started=0, ended=1)
    outcome = replace(quiet_outcome, silent=frozenset(), absences=[absence], faults=[fault])
    assert found(outcome) == {"unexplained auto-placement"}
