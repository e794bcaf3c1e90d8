"""Whole matches, played at random by the rules."""

import hashlib
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hub.rules.constants import OUTAGE
from hub.rules.match import (
    Config,
    Contender,
    Match,
    Moment,
    move_deadline,
    place,
    standard_config,
    start,
    time_out,
)
from protocol.messages import AgentId, AnyEvent, MatchId, Placed

STARTED_AT = 1_700_000_000_000
FEE_HP = 10
FEE_BPS = 250
SHORT = Config(rounds=1, dice=8, casinos=6, fill_min=50_000, turn_ms=9_000, away_ms=500)

# Half a second a match and a test at most; hypothesis must not measure time on a shared machine.
thorough = settings(max_examples=60, deadline=None)


class Played(NamedTuple):
    """A finished match: its secret, its log, and its state at the start and after each step."""

    seed: bytes
    log: tuple[AnyEvent, ...]
    states: tuple[Match, ...]

    def __repr__(self) -> str:
        match = self.end
        return (
            f"play({match.match_id[1:]}, {len(match.players)}, fee_hp={match.entry_fee_hp}, "
            f"fee_bps={match.platform_fee_bps}, ...)"
        )

    @property
    def end(self) -> Match:
        return self.states[-1]

    def placements(self) -> tuple[Placed, ...]:
        return tuple(event for event in self.log if isinstance(event, Placed))


def contenders(count: int = 4, client_seed: str = "") -> tuple[Contender, ...]:
    """Make agents a0, a1, ... with 100, 101, ... HP after staking."""
    return tuple(
        Contender(
            agent_id=AgentId(f"a{number}"),
            name=f"Agent {number}",
            client_seed=client_seed and f"{client_seed}{number}",
            balance_hp=100 + number,
        )
        for number in range(count)
    )


def seed_of(number: int) -> bytes:
    return hashlib.sha256(str(number).encode()).digest()


def opened(
    number: int = 0,
    seats: int = 4,
    config: Config | None = None,
    fee_hp: int = FEE_HP,
    fee_bps: int = FEE_BPS,
) -> tuple[Match, tuple[AnyEvent, ...]]:
    """Start the match that seed_of(number) decides."""
    return start(
        MatchId(f"m{number}"),
        contenders(seats, "salt"),
        config or standard_config(),
        fee_hp,
        fee_bps,
        seed_of(number),
        Moment(STARTED_AT),
    )


def play(
    number: int = 0,
    seats: int = 4,
    *,
    config: Config | None = None,
    fee_hp: int = FEE_HP,
    fee_bps: int = FEE_BPS,
    absence: float = 0.2,
    outages: float = 0.1,
) -> Played:
    """Play a match to its end: random faces, nonces and talk, turns timed out, deadlines moved."""
    random = Random(number)
    match, events = opened(number, seats, config, fee_hp, fee_bps)
    seed, states, log, now_ms = seed_of(number), [match], [*events], STARTED_AT
    while (deadline := match.deadline) is not None:
        if random.random() < outages:
            now_ms = random.randint(now_ms, deadline)
            later = deadline + random.randint(1, 60_000)
            match, events = move_deadline(match, later, OUTAGE, Moment(now_ms))
        elif random.random() < absence:
            now_ms = deadline + random.choice([0, 1, 700])
            match, events = time_out(match, seed, Moment(now_ms))
        else:
            now_ms = random.randint(now_ms, deadline - 1)
            match, events = _place_any(match, seed, random, now_ms)
        states.append(match)
        log += events
    return Played(seed, tuple(log), tuple(states))


def _place_any(
    match: Match, seed: bytes, random: Random, now_ms: int
) -> tuple[Match, tuple[AnyEvent, ...]]:
    assert match.current_seat is not None
    return place(
        match,
        seed,
        seat=match.current_seat,
        turn=match.turn,
        face=random.choice(match.roll),
        nonce=random.choice(["", "π", "salt-7"]),
        message=random.choice(["", "", "all on six", "été"]),
        moment=Moment(now_ms),
    )


def renumbered(log: Sequence[AnyEvent]) -> list[AnyEvent]:
    """Hide that events are missing, added or in another order."""
    ts = sorted(event.ts for event in log)
    return [replace(event, seq=seq, ts=ts[seq - 1]) for seq, event in enumerate(log, 1)]


def place_first(
    match: Match, number: int = 0, *, message: str = "", nonce: str = "", after_ms: int = 1_000
) -> tuple[Match, tuple[AnyEvent, ...]]:
    """Place the lowest face of the roll for the seat to act."""
    assert match.current_seat is not None
    return place(
        match,
        seed_of(number),
        seat=match.current_seat,
        turn=match.turn,
        face=match.roll[0],
        nonce=nonce,
        message=message,
        moment=Moment(match.rolled_at + after_ms),
    )


def miss(match: Match, number: int = 0) -> tuple[Match, tuple[AnyEvent, ...]]:
    """Let the deadline of the seat to act pass."""
    assert match.deadline is not None
    return time_out(match, seed_of(number), Moment(match.deadline))


_terms = {
    "seats": st.sampled_from([3, 4, 5]),
    "number": st.integers(0, 2**32),
    "fee_hp": st.sampled_from([0, 1, 10, 12_345]),
    "fee_bps": st.sampled_from([0, 1, 250, 9_999, 10_000]),
}

any_match = st.builds(play, **_terms, absence=st.sampled_from([0.0, 0.2, 0.8]))
absent_match = st.builds(play, **_terms, absence=st.just(1.0))
