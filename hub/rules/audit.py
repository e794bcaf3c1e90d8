"""Replay a finished match from its log and the seed that it revealed, trusting neither.

The seed is checked against the commitment, the seats against the seed, and then every placement
is played again by the same rules, and each event compared with the one in the log, whole: rolls,
notes, deadlines, entropy, settlements, totals, winner, summary and HP.

What no log can prove is left to the reader: what was said, if anything; that there was an outage,
and how long (only that deadlines moved to later); an agent's HP from before the match (only that
its balance fits its payout); and a term that made no difference, such as the length of an away
seat's turn in a match where no seat was away.

    Exception
    +-- AuditFailure    the log is not that of a fair, finished match
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from protocol.messages import (
    AnyEvent,
    DeadlineMoved,
    MatchFinished,
    MatchStarted,
    Placed,
    SeedText,
    TableTalk,
    Talk,
)

from . import fairness
from .constants import OUTAGE
from .match import IllegalMove, move_deadline, place, standard_config, start, time_out
from .table import Contender, Match, Moment
from .turns import Step


class AuditFailure(Exception):
    """The first thing that is wrong with a log, and the number of the event it is wrong in.

    `seq` is the event's own number, or that of the last event where one is missing; 0 if all are.
    """

    def __init__(self, seq: int, what: str) -> None:
        super().__init__(seq, what)
        self.seq = seq
        self.what = what

    def __str__(self) -> str:
        return f"event {self.seq}: {self.what}"


def audit(events: Sequence[AnyEvent]) -> list[str]:
    """Check a finished match's whole log; return what was checked, a line for a person each.

    Raises AuditFailure, naming the first thing that is wrong.
    """
    _check_envelopes(events)
    opening, closing = _ends(events)
    seed = _revealed_seed(opening, closing)
    _check_seats(opening, seed)
    match = _replay(events, opening, closing, seed)
    return _report(events, match, closing)


# ---- The log as a whole --------------------------------------------------------------------------


def _check_envelopes(events: Sequence[AnyEvent]) -> None:
    for position, event in enumerate(events):
        before = events[max(position - 1, 0)]
        if event.seq != position + 1:
            raise AuditFailure(event.seq, f"event {position + 1} was expected here")
        if event.match_id != before.match_id:
            raise AuditFailure(event.seq, f"it is of another match, {event.match_id}")
        if event.ts < before.ts:
            raise AuditFailure(event.seq, f"its time, {event.ts}, is before the last, {before.ts}")


def _ends(events: Sequence[AnyEvent]) -> tuple[MatchStarted, MatchFinished]:
    if not events:
        raise AuditFailure(0, "the log is empty")
    opening = events[0]
    if not isinstance(opening, MatchStarted):
        raise AuditFailure(opening.seq, f"expected match_started, found {_type(opening)}")
    for event in events:
        if isinstance(event, MatchFinished):
            return opening, event
    raise AuditFailure(events[-1].seq, "the match has not finished: its seed is still secret")


def _revealed_seed(opening: MatchStarted, closing: MatchFinished) -> bytes:
    try:
        seed = bytes.fromhex(closing.server_seed)
    except ValueError:
        raise AuditFailure(closing.seq, "the revealed seed is not hexadecimal") from None
    committed = fairness.commitment(seed)
    if committed != opening.commitment:
        raise AuditFailure(
            closing.seq,
            f"the revealed seed's hash is {committed}, but event {opening.seq} "
            f"committed the match to {opening.commitment}",
        )
    return seed


def _check_seats(opening: MatchStarted, seed: bytes) -> None:
    seated = tuple(player.agent_id for player in opening.players)
    drawn = fairness.seating(seed, opening.match_id, seated)
    if seated != drawn:
        raise AuditFailure(
            opening.seq, f"the seed seats {', '.join(drawn)}, the log {', '.join(seated)}"
        )


# ---- Event by event ------------------------------------------------------------------------------


def _replay(
    events: Sequence[AnyEvent], opening: MatchStarted, closing: MatchFinished, seed: bytes
) -> Match:
    """Play the match again. The log has a match_finished, so it can't run out unnoticed."""
    match, made = _start(opening, closing, seed)
    done = _compare(made, events, 0)
    while match.deadline is not None:
        match, made = _next_step(match, match.deadline, seed, events[done : done + 2])
        done = _compare(made, events, done)
    if done < len(events):
        raise AuditFailure(events[done].seq, "the match goes on after its end")
    return match


def _start(opening: MatchStarted, closing: MatchFinished, seed: bytes) -> Step:
    # HP from before the match is in no event, so it is taken from what the log says of its end.
    after_stake = {
        movement.agent_id: movement.balance - movement.payout
        for movement in closing.summary.hp_movement
    }
    contenders = [
        Contender(
            agent_id=player.agent_id,
            name=player.name,
            client_seed=_checked(opening, "client_seed", player.client_seed, SeedText),
            balance_hp=after_stake.get(player.agent_id, 0),
        )
        for player in opening.players
    ]
    try:
        return start(
            opening.match_id,
            contenders,
            opening.config,
            opening.entry_fee_hp,
            opening.platform_fee_bps,
            seed,
            Moment(opening.ts),
        )
    except ValueError as error:
        raise AuditFailure(opening.seq, str(error)) from None


def _next_step(match: Match, deadline: int, seed: bytes, coming: Sequence[AnyEvent]) -> Step:
    """Play the log's next step; `coming` is its next two events, or the last one alone."""
    event = coming[0]
    if isinstance(event, DeadlineMoved):
        return _move_deadline(match, deadline, event)
    if isinstance(event, TableTalk):
        message = _checked(event, "message", event.message, Talk)
        return _place(match, deadline, seed, coming[1], message)
    return _place(match, deadline, seed, event, "")


def _move_deadline(match: Match, deadline: int, moved: DeadlineMoved) -> Step:
    if moved.deadline <= deadline:
        raise AuditFailure(moved.seq, f"deadline {deadline} moved to {moved.deadline}, not later")
    if moved.reason != OUTAGE:
        raise AuditFailure(moved.seq, f"reason: expected {OUTAGE}, found {moved.reason}")
    return move_deadline(match, moved.deadline, moved.reason, Moment(moved.ts))


def _place(match: Match, deadline: int, seed: bytes, placed: AnyEvent, message: str) -> Step:
    if not isinstance(placed, Placed):
        raise AuditFailure(placed.seq, f"expected placed, found {_type(placed)}")
    if placed.is_auto:
        return _time_out(match, deadline, seed, placed)
    if placed.ts >= deadline:
        raise AuditFailure(placed.seq, f"placed at {placed.ts}, not before deadline {deadline}")
    try:
        return place(
            match,
            seed,
            seat=placed.seat,
            turn=placed.turn,
            face=placed.face,
            nonce=_checked(placed, "nonce", placed.nonce, SeedText),
            message=message,
            moment=Moment(placed.ts),
        )
    except IllegalMove as error:
        raise AuditFailure(placed.seq, f"{error.code}: {error}") from None


def _time_out(match: Match, deadline: int, seed: bytes, placed: Placed) -> Step:
    if placed.ts < deadline:
        raise AuditFailure(
            placed.seq, f"placed automatically at {placed.ts}, before deadline {deadline}"
        )
    return time_out(match, seed, Moment(placed.ts))


def _checked(event: AnyEvent, field: str, text: str, type: Any) -> str:
    try:
        return str(msgspec.convert(text, type))
    except msgspec.ValidationError as error:
        raise AuditFailure(event.seq, f"{field} {text!r}: {error}") from None


# ---- Comparing -----------------------------------------------------------------------------------


def _compare(made: Sequence[AnyEvent], events: Sequence[AnyEvent], done: int) -> int:
    """Compare what the rules make with what the log holds from `done` on; return where to go on."""
    for expected, found in zip(made, events[done:], strict=False):
        if type(found) is not type(expected):
            raise AuditFailure(found.seq, f"expected {_type(expected)}, found {_type(found)}")
        if found != expected:
            raise AuditFailure(found.seq, f"{_type(found)}{_difference('', expected, found)}")
    return done + len(made)


def _difference(path: str, expected: Any, found: Any) -> str:
    for name, part, other in _parts(expected, found):
        if part != other:
            return _difference(path + name, part, other)
    return f"{path}: expected {expected}, found {found}"


def _parts(expected: Any, found: Any) -> list[tuple[str, Any, Any]]:
    """Pair the parts of two values of one type, each with its name; none if they don't pair up."""
    if isinstance(expected, msgspec.Struct):
        return [
            (f".{field}", getattr(expected, field), getattr(found, field))
            for field in expected.__struct_fields__
        ]
    if isinstance(expected, tuple) and len(expected) == len(found):
        return [
            (f"[{index}]", *pair) for index, pair in enumerate(zip(expected, found, strict=True))
        ]
    return []


def _type(event: AnyEvent) -> str:
    return str(event.__struct_config__.tag)


# ---- Reporting -----------------------------------------------------------------------------------


def _report(events: Sequence[AnyEvent], match: Match, closing: MatchFinished) -> list[str]:
    count = Counter(_type(event) for event in events)
    autos = sum(player.auto_placements for player in match.players)
    casinos = match.config.casinos * match.config.rounds
    return [
        f"{len(events)} events of match {match.match_id}: no number missing, times in order",
        f"the revealed seed is the one committed to: {match.commitment}",
        f"{len(match.players)} seats drawn as the seed says",
        f"the notes of {casinos} casinos dealt as the seed and the entropy say",
        f"{count['roll']} rolls as the seed and the entropy say, with their deadlines",
        f"{count['placed'] - autos} placements by agents: legal, each before its deadline",
        f"{autos} automatic placements: the right face, none before its deadline",
        f"{count['deadline_moved']} deadlines moved, none to earlier",
        f"entropy after each placement, at last {closing.entropy}",
        f"{casinos} casinos settled, and the totals of {count['round_settled']} rounds",
        _outcome(match),
        _hp(closing),
        _terms(match),
    ]


def _outcome(match: Match) -> str:
    if match.winner_seat is None:
        return "no winner: no seat placed anything of its own"
    winner = match.players[match.winner_seat]
    return f"seat {match.winner_seat}, {winner.agent_id}, won with {winner.money:,} dollars"


def _hp(closing: MatchFinished) -> str:
    staked = sum(movement.staked for movement in closing.summary.hp_movement)
    paid = sum(movement.payout for movement in closing.summary.hp_movement)
    return f"{staked} HP staked, {paid} paid out, {staked - paid} kept as the platform's fee"


def _terms(match: Match) -> str:
    usual = standard_config(match.config.turn_ms, match.config.away_ms)
    if match.config == usual:
        return "played with the constants of RULES.md"
    return (
        f"not played with the constants of RULES.md: config{_difference('', usual, match.config)}"
    )
