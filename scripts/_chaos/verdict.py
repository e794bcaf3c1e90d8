"""Compare the store's logs with what was acknowledged, received and done, and say what is wrong."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from hub.rules.audit import AuditFailure, audit
from protocol.codec import decode_event, to_json
from protocol.messages import AnyEvent, MatchFinished

from .attendance import Absence
from .bots import Move
from .plan import Fault
from .troubles import Trouble
from .turns import SILENT, Reasons, Turn, longest_turns, read_turns
from .witness import Prints, fingerprint

Logs = dict[str, list[bytes]]  # each match's packed events


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What the whole run was; all the accounts that a verdict is made from."""

    logs: Logs
    moves: Sequence[Move]
    silent: frozenset[str]
    faults: Sequence[Fault]
    absences: Sequence[Absence]
    prints: dict[tuple[str, int], Prints]
    troubles: Sequence[Trouble]
    store_started: Sequence[int]
    events: int
    hp_difference: int


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of a run, and everything that is wrong with it; times are in ms."""

    faults: dict[str, int]
    matches: int
    turns: int
    events: int
    acknowledged: int
    replayed: int
    autos_silent: int
    autos_explained: dict[str, int]
    hp_difference: int
    longest_turn: dict[str, int]
    failover: list[int]
    first_moves: list[int]
    troubles: list[Trouble]

    @property
    def is_good(self) -> bool:
        """Tell whether nothing is wrong."""
        return not self.troubles and self.hp_difference == 0

    def count(self, *what: str) -> int:
        """Count the troubles of some kinds."""
        return sum(trouble.what in what for trouble in self.troubles)


def judge(outcome: Outcome) -> Verdict:
    """Make the verdict."""
    events = {
        match_id: [decode_event(packed, "msgpack") for packed in log]
        for match_id, log in outcome.logs.items()
    }
    turns = [turn for log in events.values() for turn in read_turns(log)]
    reasons = Reasons(outcome.silent, outcome.faults, outcome.absences)
    autos = [(turn, reasons.of_auto(turn)) for turn in turns if turn.is_auto]
    troubles = [
        *outcome.troubles,
        *_audit(events),
        *_check_moves(turns, outcome.moves),
        *_check_prints(outcome),
        *(_unexplained(turn) for turn, why in autos if not why),
    ]
    return Verdict(
        faults=dict(Counter(fault.kind for fault in outcome.faults)),
        matches=sum(isinstance(log[-1], MatchFinished) for log in events.values()),
        turns=len(turns),
        events=outcome.events,
        acknowledged=sum(move.seq is not None for move in outcome.moves),
        replayed=sum(move.replayed for move in outcome.moves),
        autos_silent=sum(why == SILENT for _, why in autos),
        autos_explained=dict(Counter(why for _, why in autos if why and why != SILENT)),
        hp_difference=outcome.hp_difference,
        longest_turn=longest_turns(turns, outcome.silent, reasons),
        failover=_failover(outcome.absences),
        first_moves=_first_moves(turns, outcome.store_started),
        troubles=troubles,
    )


# ---- What must not be ----------------------------------------------------------------------------


def _audit(events: dict[str, list[AnyEvent]]) -> Iterable[Trouble]:
    for match_id, log in events.items():
        try:
            audit(log)
        except AuditFailure as failure:
            yield Trouble(
                what="log fails", at=log[-1].ts, who="store", match_id=match_id, detail=str(failure)
            )


def _check_moves(turns: Iterable[Turn], moves: Iterable[Move]) -> Iterable[Trouble]:
    logged: dict[str, list[Turn]] = defaultdict(list)
    for turn in turns:
        if turn.nonce:
            logged[turn.nonce].append(turn)
    for move in moves:
        found = logged.get(move.nonce, [])
        if len(found) > 1:
            yield _wrong_move("counted twice", move)
        if move.seq is not None and not any(_is_the_move(turn, move) for turn in found):
            yield _wrong_move("acknowledged move missing", move)
        if move.refused and found:
            yield _wrong_move("refused move counted", move)


def _is_the_move(turn: Turn, move: Move) -> bool:
    return (turn.match_id, turn.turn, turn.agent_id, turn.seq, turn.face, turn.is_auto) == (
        *(move.match_id, move.turn, move.agent_id, move.seq, move.face, False),
    )


def _wrong_move(what: str, move: Move) -> Trouble:
    return Trouble(
        what=what,
        at=move.answered,
        who=move.agent_id,
        match_id=move.match_id,
        seq=move.seq or 0,
        detail=f"turn {move.turn}, nonce {move.nonce} {move.refused}",
    )


def _check_prints(outcome: Outcome) -> Iterable[Trouble]:
    """Compare what sockets got with the logs."""
    for (match_id, seq), prints in outcome.prints.items():
        log = outcome.logs.get(match_id, [])
        packed = log[seq - 1] if seq <= len(log) else b""
        expected = {"msgpack": packed, "json": to_json(packed) if packed else b""}
        if any(fingerprint(expected[format]) != seen for format, seen in prints.items()):
            yield Trouble(
                what="differing event",
                at=0,
                who="sockets",
                match_id=match_id,
                seq=seq,
                detail="from the one in the log",
            )


def _unexplained(turn: Turn) -> Trouble:
    return Trouble(
        what="unexplained auto-placement",
        at=turn.placed,
        who=turn.agent_id,
        match_id=turn.match_id,
        seq=turn.seq,
        detail=f"turn {turn.turn}, rolled at {turn.rolled}",
    )


# ---- How long it took ----------------------------------------------------------------------------


def _failover(absences: Iterable[Absence]) -> list[int]:
    """List how long the bots of killed hubs took to be welcome at another."""
    return [
        each.ended - each.started
        for each in absences
        if each.fault is not None and each.fault.kind == "hub killed" and each.ended is not None
    ]


def _first_moves(turns: Iterable[Turn], store_started: Iterable[int]) -> list[int]:
    """List how long it took from each start of the store to the first move of anyone."""
    moments = sorted(turn.placed for turn in turns)
    return [
        next(moment for moment in moments if moment > start) - start
        for start in store_started
        if moments and moments[-1] > start
    ]
