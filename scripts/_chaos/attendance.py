"""Know when an agent was without a working connection, and which fault was to blame."""

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from .plan import Fault, now_ms


class Absence(msgspec.Struct, kw_only=True):
    """A time in which a fault had left an agent without a connection; ms since the epoch."""

    agent_id: str
    fault: Fault
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
        if agent_id in self._working:
            self._working[agent_id].discard(line)
        self._impaired.pop(line, None)

    def impair(self, lines: Iterable[int], fault: Fault) -> None:
        """Note that lines do not work because of a fault."""
        for agent_id, working in self._working.items():
            hit = working.intersection(lines)
            working.difference_update(hit)
            self._impaired.update(dict.fromkeys(hit, agent_id))
            if hit and not working:
                absence = Absence(agent_id=agent_id, fault=fault, started=now_ms())
                self._absent[agent_id] = absence
                self.absences.append(absence)

    def restore(self, lines: Iterable[int]) -> None:
        """Note that lines work again, if they are still open."""
        for line in lines:
            agent_id = self._impaired.pop(line, None)
            if agent_id is not None:
                self.arrive(agent_id, line)
