import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts._loadtest.histogram import Histogram

VALUES = st.lists(st.integers(0, 10**9), min_size=1, max_size=200)


def _histogram(values: list[int]) -> Histogram:
    histogram = Histogram()
    for value in values:
        histogram.record(value)
    return histogram


@given(VALUES, st.floats(0, 100))
def test_a_percentile_is_within_one_part_in_a_hundred(values: list[int], percent: float) -> None:
    exact = sorted(values)[max(math.ceil(len(values) * percent / 100) - 1, 0)]
    found = _histogram(values).percentile(percent)
    assert exact <= found <= exact + exact / 100


@given(VALUES)
def test_the_greatest_value_is_exact(values: list[int]) -> None:
    assert _histogram(values).percentile(100) == max(values)


@given(VALUES, VALUES)
def test_adding_is_counting_both(first: list[int], second: list[int]) -> None:
    both = _histogram(first)
    both.add(_histogram(second))
    assert both == _histogram(first + second)


@given(st.integers(0, 10**5), st.integers(1, 10**5))
def test_a_slow_answer_counts_for_those_that_were_not_asked_for(value: int, interval: int) -> None:
    histogram = Histogram()
    histogram.record_corrected(value, interval)
    assert histogram.total == max(value // interval, 1)


def test_a_stall_shows_in_the_corrected_percentiles() -> None:
    """Of 100 s with one request a second, 50 s were a stall: half of the time was bad."""
    plain, corrected = Histogram(), Histogram()
    for value in [1] * 50 + [50]:
        plain.record(value)
        corrected.record_corrected(value, 1)
    assert (plain.percentile(90), corrected.percentile(90)) == (1, 40)


def test_nothing_is_corrected_without_an_interval() -> None:
    histogram = Histogram()
    histogram.record_corrected(100, 0)
    assert histogram == _histogram([100])


def test_a_negative_value_counts_as_zero() -> None:
    assert _histogram([-5]) == _histogram([0])


@pytest.mark.parametrize("percent", [0, 50, 100])
def test_nothing_has_percentiles_of_zero(percent: float) -> None:
    assert Histogram().percentile(percent) == 0
