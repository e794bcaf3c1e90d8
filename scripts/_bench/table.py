"""Show reports as tables in the terminal, as Markdown and as JSON."""

import os
import platform
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from .figures import Figure, Ratio, Report

THOUSANDS_FROM = 100  # beyond it a number is whole and its thousands are set apart


def show(report: Report, console: Console) -> None:
    """Print a report."""
    table = Table(title=report.title, title_justify="left")
    for heading, justify in (("", "left"), ("median", "right"), ("min to max", "right")):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    table.add_column("")
    for figure in report.figures:
        table.add_row(figure.name, number(figure.median), span(figure), figure.unit)
    table.add_section()
    for ratio in report.ratios:
        table.add_row(ratio.name, f"x {number(ratio.median)}", span(ratio), verdict(ratio))
    console.print(table)
    for note in report.notes:
        console.print(note, style="dim")


def markdown(reports: Sequence[Report]) -> str:
    """Render reports as Markdown tables."""
    parts = [f"{machine()}, {time.strftime('%Y-%m-%d %H:%M')}"]
    for report in reports:
        lines = [
            f"### {report.title}",
            "",
            "| | median | min to max | |",
            "| --- | --: | --: | --- |",
        ]
        lines += [
            f"| {each.name} | {number(each.median)} | {span(each)} | {each.unit} |"
            for each in report.figures
        ]
        lines += [
            f"| {each.name} | x {number(each.median)} | {span(each)} | {verdict(each)} |"
            for each in report.ratios
        ]
        parts.append("\n".join([*lines, "", *report.notes]))
    return "\n\n".join(parts) + "\n"


def save_json(reports: Sequence[Report], path: Path) -> None:
    """Write reports to a file, with all samples."""
    content = {"machine": machine(), "at": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "reports": reports}
    path.write_bytes(msgspec.json.format(msgspec.json.encode(content)))


def machine() -> str:
    """Name the processor and the Python."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.partition(": ")[2] for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    system = f"Linux {platform.release()}, Python {platform.python_version()}"
    return f"{os.cpu_count()} x {model}, {system}"


def number(value: float) -> str:
    """Show three significant digits."""
    if value >= THOUSANDS_FROM:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value >= 1 or value == 0 else f"{value:.2f}"


def span(each: Figure | Ratio) -> str:
    """Show the least and the greatest sample."""
    return f"{number(min(each.samples))} to {number(max(each.samples))}"


def verdict(ratio: Ratio) -> str:
    """Say what the limit is and whether it holds."""
    if ratio.limit is None:
        return ""
    side = "at least" if ratio.at_least else "at most"
    return f"{'ok' if ratio.holds else 'NOT OK'}, {side} {number(ratio.limit)}"
