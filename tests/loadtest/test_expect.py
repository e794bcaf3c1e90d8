import pytest

from scripts._loadtest.expect import BadExpectation, Expectation, figure, parse
from tests.loadtest.samples import outcome, second


def test_expectations_are_a_list() -> None:
    assert parse("p99_ms<50, gaps = 0,moves_per_s>=12.5") == (
        Expectation("p99_ms", "<", 50.0),
        Expectation("gaps", "=", 0.0),
        Expectation("moves_per_s", ">=", 12.5),
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("p99_ms", "'p99_ms' is not like p99_ms<50"),
        ("p99_ms<fast", "is not like"),
        ("p98_ms<50", "'p98_ms' is none of p50_ms"),
        ("gaps=0,", "'' is not like"),
    ],
)
def test_what_can_not_be_read_says_why(text: str, says: str) -> None:
    with pytest.raises(BadExpectation, match=says):
        parse(text)


@pytest.mark.parametrize(
    ("text", "value", "holds"),
    [
        ("gaps=0", 0.0, True),
        ("gaps=0", 1.0, False),
        ("p99_ms<50", 50.0, False),
        ("p99_ms<=50", 50.0, True),
        ("moves_per_s>10", 10.0, False),
        ("moves_per_s>=10", 10.0, True),
        ("p99_ms<50", None, False),
    ],
)
def test_a_value_is_held_against_the_bound(text: str, value: float | None, holds: bool) -> None:
    assert parse(text)[0].holds(value) is holds


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ack_p99_ms", 20.0),
        ("spectator_max_ms", 2.0),
        ("p99_ms", 20.0),
        ("roll_p99_ms", None),
        ("gaps", 1.0),
        ("errors", 1.0),
        ("closes", 1.0),
        ("failures", 0.0),
        ("moves_per_s", 10.0),
    ],
)
def test_figures_are_found_by_name(name: str, value: float | None) -> None:
    assert figure(outcome(second(1)), name) == value
