import itertools
import re
from html.parser import HTMLParser

from scripts._loadtest.outcome import conclude
from scripts._loadtest.page import render
from tests.loadtest.samples import LOAD, second, timeline

SECONDS = [second(number) for number in range(4)]


def _render(*seconds: object) -> str:
    made = timeline(*seconds)  # type: ignore[arg-type]
    return render(conclude(LOAD, made), made, "What <it> means.")


class _Text(HTMLParser):
    """Collects the text of table cells, and the charts' lines."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.lines: list[str] = []
        self._in_cell = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_cell = tag == "td"
        if tag == "polyline":
            self.lines.append(dict(attrs)["points"] or "")

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.cells.append(data)


def test_a_report_says_what_the_outcome_says() -> None:
    cells = _Text(_render(*SECONDS)).cells
    pairs = dict(itertools.pairwise(cells))
    assert pairs["clients"] == "8 bots, 5 spectators"
    assert pairs["moves"] == "10.0 /s"
    assert pairs["gaps"] == "4"
    assert pairs["errors by code"] == "rate_limited: 4"
    assert pairs["disconnects by code"] == "1006: 4"
    row = cells.index("action to ack")
    assert cells[row : row + 7] == ["action to ack", "10.0", "20.0", "20.0", "20.0", "20.0", "12"]


def test_a_report_charts_latency_over_time_and_its_distribution() -> None:
    page = _render(*SECONDS)
    charts = dict(re.findall(r"<h2>(Latency over time|Distribution)[^<]*</h2>(.*?)</svg>", page))
    by_title = {title: _Text(chart).lines for title, chart in charts.items()}
    points = [len(line.split()) for line in by_title["Latency over time"] if line]
    assert points == [4, 4]  # a line each for acks and spectators, a point for each second
    assert len(by_title["Distribution"]) == 2


def test_a_report_needs_nothing_from_elsewhere() -> None:
    assert re.findall(r"https?://|src=|@import|url\(", _render(*SECONDS)) == []


def test_a_report_escapes_what_it_shows() -> None:
    assert "What &lt;it&gt; means." in _render(*SECONDS)


def test_a_report_warns_of_a_generator_at_its_limit() -> None:
    assert "The generator was the limit" in _render(second(1, cpu=0.99))
    assert "The generator was the limit" not in _render(second(1))


def test_a_run_that_measured_nothing_has_a_report() -> None:
    assert "Nothing was measured." in _render()
