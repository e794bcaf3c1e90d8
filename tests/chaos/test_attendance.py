"""It is known when an agent was without a working connection, and why."""

from scripts._chaos.attendance import Attendance
from scripts._chaos.plan import Fault

CUT = Fault(kind="link cut", target="hub 0", started=0)
HALF_OPEN = Fault(kind="sockets half-open", target="1 sockets", started=0)


def spans(attendance: Attendance) -> list[tuple[str, Fault | None, bool]]:
    """List the absences: whose, why, and whether they are over."""
    return [(each.agent_id, each.fault, each.ended is not None) for each in attendance.absences]


def test_an_agent_whose_line_breaks_is_absent_until_it_is_let_in_again() -> None:
    attendance = Attendance()
    attendance.arrive("ann", 1)
    attendance.impair([1], CUT)
    assert spans(attendance) == [("ann", CUT, False)]
    attendance.depart("ann", 1)
    attendance.arrive("ann", 2)
    assert spans(attendance) == [("ann", CUT, True)]


def test_an_agent_with_another_line_is_not_absent() -> None:
    attendance = Attendance()
    attendance.arrive("ann", 1)
    attendance.arrive("ann", 2)
    attendance.impair([1], CUT)
    assert spans(attendance) == []


def test_a_line_works_again_when_all_its_faults_are_over() -> None:
    attendance = Attendance()
    attendance.arrive("ann", 1)
    attendance.impair([1], CUT)
    attendance.impair([1], HALF_OPEN)
    attendance.restore([1])
    assert spans(attendance) == [("ann", CUT, False)]
    attendance.restore([1])
    assert spans(attendance) == [("ann", CUT, True)]


def test_an_agent_whose_line_is_closed_is_absent_for_no_fault() -> None:
    attendance = Attendance()
    attendance.arrive("ann", 1)
    attendance.depart("ann", 1)
    assert spans(attendance) == [("ann", None, False)]


def test_who_was_never_let_in_is_not_known() -> None:
    attendance = Attendance()
    attendance.depart("ann", 1)
    attendance.impair([1], CUT)
    assert (spans(attendance), attendance.agents) == ([], set())
