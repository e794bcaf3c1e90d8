"""Add up what processes say, by second and over all."""

from collections.abc import Sequence

import msgspec

from .tally import Second, Tally


class Moment(msgspec.Struct):
    """One second of all processes."""

    number: int
    open: int = 0
    heard: int = 0
    tally: Tally = msgspec.field(default_factory=Tally)
    cpu: float = 0.0
    lag_us: int = 0


class Timeline:
    """All seconds of a run. Rates and latencies count once the ramp is over; faults always do."""

    def __init__(self, ramp_s: float, processes: int) -> None:
        self._ramp_s = ramp_s
        self._processes = processes
        self._moments: dict[int, Moment] = {}

    def add(self, second: Second) -> None:
        """Take what one process says of one second."""
        moment = self._moments.setdefault(second.number, Moment(second.number))
        moment.open += second.open
        moment.heard += 1
        moment.tally.add(second.tally)
        moment.cpu = max(moment.cpu, second.strain.cpu)
        moment.lag_us = max(moment.lag_us, second.strain.lag_us)

    @property
    def moments(self) -> Sequence[Moment]:
        """The seconds of which all processes have told."""
        return [each for each in self._moments.values() if each.heard == self._processes]

    @property
    def steady(self) -> Sequence[Moment]:
        """The seconds after the ramp."""
        return [each for each in self.moments if each.number >= self._ramp_s]

    def total(self, moments: Sequence[Moment]) -> Tally:
        """Add up the counts of some seconds."""
        tally = Tally()
        for moment in moments:
            tally.add(moment.tally)
        return tally
