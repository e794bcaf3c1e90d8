"""The rules work at a time that is not known yet, as the store needs them to."""

from typing import Any, NoReturn

import msgspec
from hypothesis import given as for_all

from hub.rules.constants import OUTAGE
from hub.rules.match import (
    Match,
    Moment,
    Step,
    move_deadline,
    place,
    standard_config,
    start,
    time_out,
)
from protocol.messages import MatchId
from tests.rules.matches import Played, any_match, contenders, seed_of, thorough


class Unknown:
    """A time that is not known yet: it can be moved, and nothing else."""

    def __init__(self, offset: int = 0) -> None:
        self.offset = offset

    def __add__(self, ms: int) -> "Unknown":
        return Unknown(self.offset + ms)

    __radd__ = __add__

    def __sub__(self, ms: int) -> "Unknown":
        return Unknown(self.offset - ms)

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError("a time that is not known yet can't be compared")

    def __bool__(self) -> NoReturn:
        raise TypeError("a time that is not known yet is neither true nor false")

    __hash__ = None  # type: ignore[assignment]


class Later(Moment, frozen=True):
    """The moment of a commit that has yet to happen; `longest` answers as at time 0."""

    def longest(self, before_ms: int, since_ms: int) -> Any:
        return Unknown(max(before_ms, -since_ms))


def known(value: object) -> int:
    assert isinstance(value, Unknown)
    return value.offset


@thorough
@for_all(any_match)
def test_rules_only_move_a_time_and_never_compare_it(played: Played) -> None:
    """Each step taken at an unknown time is the one taken at 0, with 0 put in for the time."""
    packing = msgspec.msgpack.Encoder(enc_hook=known)
    for match in played.states[:-1]:
        for move in (place_at, time_out_at, move_deadline_at):
            later = move(match, played.seed, Later(Unknown()))  # type: ignore[arg-type]
            assert packing.encode(later) == packing.encode(move(match, played.seed, Moment(0)))


def place_at(match: Match, seed: bytes, moment: Moment) -> Step:
    return place(
        match,
        seed,
        seat=match.current_seat or 0,
        turn=match.turn,
        face=match.roll[-1],
        nonce="",
        message="hm",
        moment=moment,
    )


def time_out_at(match: Match, seed: bytes, moment: Moment) -> Step:
    return time_out(match, seed, moment)


def move_deadline_at(match: Match, seed: bytes, moment: Moment) -> Step:
    return move_deadline(match, moment.now_ms + 1, OUTAGE, moment)


def start_at(moment: Moment) -> Step:
    return start(MatchId("m0"), contenders(), standard_config(), 10, 250, seed_of(0), moment)


def test_start_only_moves_a_time_and_never_compares_it() -> None:
    packing = msgspec.msgpack.Encoder(enc_hook=known)
    later = start_at(Later(Unknown()))  # type: ignore[arg-type]
    assert packing.encode(later) == packing.encode(start_at(Moment(0)))


def test_longest_is_the_longer_of_before_and_now() -> None:
    assert [Moment(100).longest(before_ms, 60) for before_ms in (39, 40, 41)] == [40, 40, 41]
