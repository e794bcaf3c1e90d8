"""Know when an agent was without a working connection, and why."""

from collections import defaultdict
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
    """The working lines of each agent; a line is known by its number."""

    def __init__(self) -> None:
        self.absences: list[Absence] = []
        self._working: dict[str, set[int]] = defaultdict(set)
        self._impaired: dict[int, str] = {}
        self._absent: dict[str, Absence] = {}

    @property
    def agents(self) -> set[str]:
        """All agents that were ever let in."""
        return set(self._working)

    def arrive(self, agent_id: str, line: int) -> None:
        """Note that a hub has let an agent in."""
        self._working[agent_id].add(line)
        absence = self._absent.pop(agent_id, None)
        if absence is not None:
            absence.ended = now_ms()

    def depart(self, agent_id: str, line: int) -> None:
        """Note that a line is closed."""
        self._impaired.pop(line, None)
        if agent_id in self._working:
            self._lose(agent_id, {line}, None)

    def impair(self, lines: Iterable[int], fault: Fault) -> None:
        """Note that lines do not work because of a fault."""
        for agent_id, working in self._working.items():
            hit = working.intersection(lines)
            self._impaired.update(dict.fromkeys(hit, agent_id))
            self._lose(agent_id, hit, fault)

    def restore(self, lines: Iterable[int]) -> None:
        """Note that lines work again, if they are still open."""
        for line in lines:
            agent_id = self._impaired.pop(line, None)
            if agent_id is not None:
                self.arrive(agent_id, line)

    def _lose(self, agent_id: str, lines: set[int], fault: Fault | None) -> None:
        working = self._working[agent_id]
        if working & lines and not working - lines:
            absence = Absence(agent_id=agent_id, fault=fault, started=now_ms())
            self._absent[agent_id] = absence
            self.absences.append(absence)
        working -= lines
