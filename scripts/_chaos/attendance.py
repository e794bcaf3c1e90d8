"""Know when an agent was without a working connection, and why."""

from collections import Counter, defaultdict
from collections.abc import Iterable

import msgspec

from .plan import Fault, now_ms


class Absence(msgspec.Struct, kw_only=True):
    """A time in which an agent was without a connection, in ms since the epoch.

    `fault` is what took it, or None if a hub closed it or its client did.
    """

    agent_id: str
    fault: Fault | None
    started: int
    ended: int | None = None


class Attendance:
    """The lines on which each agent was let in; a line is known by its number."""

    def __init__(self) -> None:
        self.absences: list[Absence] = []
        self._lines: dict[str, set[int]] = defaultdict(set)
        self._impairments: Counter[int] = Counter()
        self._absent: dict[str, Absence] = {}

    @property
    def agents(self) -> set[str]:
        """All agents that were ever let in."""
        return set(self._lines)

    def arrive(self, agent_id: str, line: int) -> None:
        """Note that a hub has let an agent in."""
        self._lines[agent_id].add(line)
        self._look(agent_id, None)

    def depart(self, agent_id: str, line: int) -> None:
        """Note that a line is closed."""
        if agent_id in self._lines:
            self._lines[agent_id].discard(line)
            self._look(agent_id, None)

    def impair(self, lines: Iterable[int], fault: Fault) -> None:
        """Note that lines do not work because of a fault."""
        self._impairments.update(lines)
        for agent_id in self._lines:
            self._look(agent_id, fault)

    def restore(self, lines: Iterable[int]) -> None:
        """Note that a fault is over; lines with another one do not work yet."""
        self._impairments.subtract(lines)
        for agent_id in self._lines:
            self._look(agent_id, None)

    def _look(self, agent_id: str, fault: Fault | None) -> None:
        works = any(not self._impairments[line] for line in self._lines[agent_id])
        if works and agent_id in self._absent:
            self._absent.pop(agent_id).ended = now_ms()
        elif not works and agent_id not in self._absent:
            absence = Absence(agent_id=agent_id, fault=fault, started=now_ms())
            self._absent[agent_id] = absence
            self.absences.append(absence)
