"""Read turns from logs, and say what held them up."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from protocol.messages import AnyEvent, MatchStarted, Placed, Roll

from .attendance import Absence
from .plan import Fault, Kind

SILENT = "silent"
NOTHING = "none"

# What befalls all hubs and costs nobody a move: time that the store is away is given back, and
# hubs that are told to stop say bye.
COMMON: frozenset[Kind] = frozenset({"store killed", "store stopped", "rolling restart"})


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn as the log has it; times are the store's, in ms."""

    match_id: str
    turn: int
    agent_id: str
    seq: int
    rolled: int
    placed: int
    face: int
    nonce: str
    is_auto: bool


def read_turns(log: Iterable[AnyEvent]) -> Iterable[Turn]:
    """List the turns of a match."""
    agents: list[str] = []
    roll: Roll | None = None
    for event in log:
        if isinstance(event, MatchStarted):
            agents = [player.agent_id for player in event.players]
        elif isinstance(event, Roll):
            roll = event
        elif isinstance(event, Placed) and roll is not None:
            yield Turn(
                match_id=event.match_id,
                turn=event.turn,
                agent_id=agents[event.seat],
                seq=event.seq,
                rolled=roll.ts,
                placed=event.ts,
                face=event.face,
                nonce=event.nonce,
                is_auto=event.is_auto,
            )


class Reasons:
    """Why turns took long or were let pass, as far as that is known."""

    def __init__(
        self, silent: frozenset[str], faults: Sequence[Fault], absences: Iterable[Absence]
    ) -> None:
        self._silent = silent
        self._common = [fault for fault in faults if fault.kind in COMMON]
        self._others = [fault for fault in faults if fault.kind not in COMMON]
        self._absences: dict[str, list[Absence]] = defaultdict(list)
        for absence in absences:
            self._absences[absence.agent_id].append(absence)

    def of_auto(self, turn: Turn) -> str:
        """Name what excuses that an agent let a turn pass; "" if nothing does."""
        if turn.agent_id in self._silent:
            return SILENT
        return next((why for each in self._absent(turn) if (why := self._why(each))), "")

    def of_delay(self, turn: Turn) -> set[str]:
        """Name all that may have held up a turn; of an agent that is not silent."""
        common = {fault.kind for fault in self._common if _overlap(fault, turn.rolled, turn.placed)}
        own = {why for each in self._absent(turn) if (why := self._why(each))}
        return {*common, *own} or {NOTHING}

    def _absent(self, turn: Turn) -> list[Absence]:
        return [
            each
            for each in self._absences[turn.agent_id]
            if _overlap(each, turn.rolled, turn.placed)
        ]

    def _why(self, absence: Absence) -> str:
        """Name what took a connection, or else what may have kept the agent from another one."""
        if absence.fault is not None:
            return absence.fault.kind
        last = absence.ended or absence.started
        others = (each for each in self._others if _overlap(each, absence.started, last))
        return next((each.kind for each in others), "")


def longest_turns(
    turns: Iterable[Turn], silent: frozenset[str], reasons: Reasons
) -> dict[str, int]:
    """Find the longest turn in ms of agents that are not silent, by what may have held it up."""
    longest: dict[str, int] = defaultdict(int)
    for turn in turns:
        if turn.agent_id not in silent:
            for reason in reasons.of_delay(turn):
                longest[reason] = max(longest[reason], turn.placed - turn.rolled)
    return dict(longest)


def _overlap(span: Absence | Fault, first: int, last: int) -> bool:
    return span.started <= last and (span.ended is None or span.ended >= first)
