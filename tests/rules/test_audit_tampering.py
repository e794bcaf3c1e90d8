"""No change of a log goes unnoticed, and no log breaks the audit."""

import contextlib
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st
from msgspec.structs import replace

from hub.rules.audit import AuditFailure, audit
from hub.rules.match import Config
from protocol.messages import AnyEvent, DeadlineMoved, TableTalk
from tests.rules.matches import (
    SHORT,
    Played,
    absent_match,
    any_match,
    play,
    renumbered,
    thorough,
)

Path = tuple[str | int, ...]

# What no log can prove, as the audit's docstring says; and the discriminators of the encoding.
UNPROVABLE = {
    ("table_talk", "message"),
    ("deadline_moved", "ts"),
    ("deadline_moved", "deadline"),
    ("match_started", "platform_fee_bps"),
    ("match_started", "config", "away_ms"),
    ("match_started", "config", "fill_min"),
    ("match_finished", "summary", "hp_movement", "balance"),
}
FIXED = ("type", "action")


def leaves(value: Any, path: Path = ()) -> Iterator[Path]:
    """List the paths to all that is no map or list, and to all lists."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
        return
    yield path
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))


def provable(kind: str, path: Path) -> bool:
    names = tuple(name for name in path if isinstance(name, str))
    return (kind, *names) not in UNPROVABLE and names[-1] not in FIXED


def alternatives(value: Any) -> list[Any]:
    """List other values, of the same type where that can be told."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1, -value - 1, 2**53, None]
    if isinstance(value, str):
        return [value + "0", value[:-1] + "~", value.upper() + " ", "0" + value]
    if value:
        return [[*value, value[-1]], value[:-1], value[1:], value[::-1]]
    return [0, [0], [[0, 1]], [{"seat": 0, "bill": 10_000}], [ANY_TIE]]


ANY_TIE = {"round": 1, "casino": 1, "seats": [0, 1], "count": 1, "bill_denied": 10_000}


def unpacked(event: AnyEvent) -> Any:
    """Turn an event into maps and lists, as it is on the wire."""
    return msgspec.msgpack.decode(msgspec.msgpack.encode(event))


def forgeries(event: AnyEvent, path: Path) -> list[AnyEvent]:
    """List the events of the same type that differ from one in what is at a path."""
    plain = unpacked(event)
    holder = plain
    for name in path[:-1]:
        holder = holder[name]
    found: list[AnyEvent] = []
    for value in alternatives(holder[path[-1]]):
        holder[path[-1]] = value
        with contextlib.suppress(msgspec.ValidationError):
            found.append(msgspec.convert(plain, AnyEvent))
    return [other for other in found if other != event]


def with_event(played: Played, position: int, event: AnyEvent) -> list[AnyEvent]:
    return [*played.log[:position], event, *played.log[position + 1 :]]


def targets(event: AnyEvent) -> list[Path]:
    plain = unpacked(event)
    return [path for path in leaves(plain) if provable(plain["type"], path)]


def passes(log: Sequence[AnyEvent]) -> bool:
    try:
        audit(log)
    except AuditFailure:
        return False
    return True


TINY = Config(rounds=1, dice=4, casinos=6, fill_min=50_000, turn_ms=9_000, away_ms=500)


@pytest.mark.parametrize("absence", [0.3, 1.0])
def test_change_of_any_one_field_fails(absence: float) -> None:
    played = play(11, 3, config=TINY, absence=absence, outages=0.2)
    unnoticed = [
        (path, forged)
        for position, event in enumerate(played.log)
        for path in targets(event)
        for forged in forgeries(event, path)
        if passes(with_event(played, position, forged))
    ]
    assert unnoticed == []


@thorough
@for_all(played=any_match | absent_match, data=st.data())
def test_change_of_some_field_of_a_whole_match_fails(played: Played, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(played.log) - 1))
    path = data.draw(st.sampled_from(targets(played.log[position])))
    forged = forgeries(played.log[position], path)
    assert [other for other in forged if passes(with_event(played, position, other))] == []


@pytest.mark.parametrize("number", range(3))
def test_event_left_out_fails_even_if_the_rest_is_renumbered(number: int) -> None:
    """But for talk and moved deadlines, of which a log proves only that they may have been."""
    played = play(number, 3, config=SHORT)
    unnoticed = [
        event
        for event in played.log
        if not isinstance(event, TableTalk | DeadlineMoved)
        and passes(renumbered([other for other in played.log if other is not event]))
    ]
    assert unnoticed == []


@pytest.mark.parametrize("number", range(3))
def test_events_in_another_order_fail(number: int) -> None:
    played = play(number, 3, config=SHORT, outages=0.0)
    log = played.log
    unnoticed = [
        position
        for position in range(1, len(log))
        if passes(
            renumbered(
                [*log[: position - 1], log[position], log[position - 1], *log[position + 1 :]]
            )
        )
    ]
    assert unnoticed == []


ANOTHER = play(99, 5, config=SHORT).log


def damaged(random: Random, log: list[AnyEvent]) -> list[AnyEvent]:
    """Damage a log in one of many ways; it may hide the damage, and it may do none."""
    at, to = sorted(random.choices(range(len(log) + 1), k=2))
    ways = [
        log[:at] + log[to:],
        log[at:to],
        log[:to] + log[at:],
        log[:at] + random.sample(log[at:to], to - at) + log[to:],
        log[:at] + random.choices(ANOTHER, k=3) + log[to:],
        [replace(event, match_id=log[0].match_id) for event in log] if log else [],
        renumbered(log),
        *([_with_any_forgery(random, log)] if log else []),
    ]
    return random.choice(ways)


def _with_any_forgery(random: Random, log: list[AnyEvent]) -> list[AnyEvent]:
    event = random.choice(log)
    path = random.choice(list(leaves(unpacked(event))))
    forged = random.choice([event, *forgeries(event, path)])
    return [forged if other is event else other for other in log]


@thorough
@for_all(st.integers(0, 2**32))
def test_no_log_makes_the_audit_break(number: int) -> None:
    """Whatever a log holds, an audit passes or raises AuditFailure."""
    random = Random(number)
    log = list(play(number % 8, 3, config=SHORT).log)
    for _ in range(20):
        log = damaged(random, log)
        passes(log)
        passes(renumbered([replace(event, match_id=log[0].match_id) for event in log]))
