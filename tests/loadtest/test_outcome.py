import pytest

from scripts._loadtest.outcome import Latency
from scripts._loadtest.tally import Tally
from tests.loadtest.samples import LOAD, outcome, second, timeline


def test_rates_are_those_after_the_ramp() -> None:
    found = outcome(second(0, moves=100), second(1, moves=20), second(2, moves=30))
    assert (found.seconds, found.moves_per_s, found.deliveries_per_s) == (2, 25.0, 40.0)


def test_faults_are_counted_from_the_start() -> None:
    found = outcome(second(0), second(1), second(2))
    assert (found.gaps, found.errors, found.closes) == (3, {"rate_limited": 3}, {"1006": 3})


def test_latencies_are_percentiles_in_ms() -> None:
    found = outcome(second(1))
    assert found.latency_ms["ack"] == Latency(
        4, p50=10.047, p90=20.0, p99=20.0, p999=20.0, max=20.0
    )


def test_what_nobody_measured_has_no_latency() -> None:
    assert "roll" not in outcome(second(1)).latency_ms


def test_a_second_counts_when_all_processes_have_told_of_it() -> None:
    made = timeline(second(0), second(0), second(1), processes=2)
    assert [moment.number for moment in made.moments] == [0]
    assert made.total(made.moments).moves == 20


def test_a_generator_that_keeps_time_is_no_limit() -> None:
    assert outcome(second(1), second(2)).generator.limits == ""


@pytest.mark.parametrize(
    ("strained", "limits"),
    [
        (second(1, cpu=0.97), "a process of it used 97% of a core (more than 85%)"),
        (second(1, lag_us=45_000), "its loop was up to 45 ms late (more than 20 ms)"),
    ],
)
def test_a_generator_that_does_not_says_so(strained: object, limits: str) -> None:
    assert outcome(strained).generator.limits == limits  # type: ignore[arg-type]


def test_one_bad_second_of_many_is_no_limit() -> None:
    seconds = [second(number) for number in range(1, 20)]
    assert outcome(*seconds, second(20, lag_us=45_000)).generator.limits == ""


@pytest.mark.parametrize("parts", [1, 2, 3, 5, 9])
def test_a_load_is_split_without_a_rest(parts: int) -> None:
    split = LOAD.split(parts)
    assert sum(part.bots for part in split) == LOAD.bots
    assert sum(part.spectators for part in split) == LOAD.spectators
    numbers = [part.first_bot + at for part in split for at in range(part.bots)]
    assert numbers == list(range(LOAD.bots))


def test_tallies_add_up() -> None:
    whole = Tally()
    for _ in range(2):
        whole.add(second(1).tally)
    assert (whole.moves, whole.errors, whole.latency("ack").total) == (20, {"rate_limited": 2}, 8)
