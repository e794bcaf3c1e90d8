from xml.etree import ElementTree

import pytest

from scripts._bench.figures import Curve, Figure, Ratio, Report, Series
from scripts._bench.plot import draw
from scripts._bench.table import markdown, number

SAMPLES = Series("us")
for name, values in (("hub", (4.0, 6.0, 5.0)), ("floor", (2.0, 2.0, 2.5))):
    for value in values:
        SAMPLES.add(name, value)


def test_a_ratio_is_taken_sample_by_sample() -> None:
    ratio = SAMPLES.ratio("hub", "floor", 2.0)
    assert ratio == Ratio("hub / floor", (2.0, 3.0, 2.0), 2.0)


@pytest.mark.parametrize(
    ("limit", "at_least", "holds"),
    [(2.0, False, True), (1.9, False, False), (2.0, True, True), (2.1, True, False)],
)
def test_a_limit_is_held_against_the_median(limit: float, at_least: bool, holds: bool) -> None:
    assert SAMPLES.ratio("hub", "floor", limit, at_least=at_least).holds is holds


def test_a_ratio_without_a_limit_neither_holds_nor_fails() -> None:
    assert SAMPLES.ratio("hub", "floor").holds is None


def test_a_report_is_a_table_with_medians_spans_and_verdicts() -> None:
    report = Report(
        "Fan-out", tuple(SAMPLES.figures()), (SAMPLES.ratio("hub", "floor", 1.5),), ("A note.",)
    )
    assert markdown([report]).split("\n\n", 1)[1] == (
        "### Fan-out\n\n"
        "| | median | min to max | |\n"
        "| --- | --: | --: | --- |\n"
        "| hub | 5 | 4 to 6 | us |\n"
        "| floor | 2 | 2 to 2.5 | us |\n"
        "| hub / floor | x 2 | 2 to 3 | NOT OK, at most 1.5 |\n"
        "\nA note.\n"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.123, "0.12"), (1.234, "1.23"), (12.34, "12.3"), (123.4, "123"), (1234, "1,234")],
)
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert number(value) == text


def test_a_plot_has_a_panel_for_each_curve_and_a_dot_for_each_point() -> None:
    points = tuple((at, Figure(f"{at}", "us", (at, 2.0 * at))) for at in (1, 10, 10_000))
    svg = ElementTree.fromstring(
        draw([Curve("tables", "us", "flat", points), Curve("<hubs>", "us", "linear", points)])
    )
    texts = [text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert "by tables (meant to be flat)" in texts
    assert "by <hubs> (meant to be linear)" in texts
    assert len(list(svg.iter("{http://www.w3.org/2000/svg}circle"))) == 6
