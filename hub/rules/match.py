"""A match from its first roll to its last settlement: start, place, time out.

Each function takes a match and returns the next one with the events that lead to it. Nothing here
reads a clock or draws a number: time comes in as a Moment, chance from the secret seed.

    Exception
    +-- IllegalMove     the rules refuse it; the match is untouched

Source: RULES.md, A match.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from protocol.messages import DeadlineMoved, Entrant, ErrorCode, MatchId, MatchStarted, TableTalk

from . import fairness
from .constants import (
    AWAY_AFTER,
    AWAY_MS,
    BANKNOTES,
    BPS,
    CASINOS,
    DICE,
    FILL_MIN,
    OUTAGE,
    RECENT_TALK,
    ROUNDS,
    SEATS,
    SEATS_MAX,
    SEATS_MIN,
    SEED_BYTES,
    TURN_MS,
)
from .table import (
    Casino,
    Config,
    Contender,
    Match,
    Moment,
    Player,
    legal_actions,
    seat_of,
    table_state,
)
from .turns import Step, commit_dice, open_round, talk

__all__ = [
    "AWAY_AFTER",
    "AWAY_MS",
    "BANKNOTES",
    "BPS",
    "CASINOS",
    "DICE",
    "FILL_MIN",
    "OUTAGE",
    "RECENT_TALK",
    "ROUNDS",
    "SEATS",
    "SEATS_MAX",
    "SEATS_MIN",
    "SEED_BYTES",
    "TURN_MS",
    "Casino",
    "Config",
    "Contender",
    "IllegalMove",
    "Match",
    "Moment",
    "Player",
    "Step",
    "auto_face",
    "legal_actions",
    "move_deadline",
    "place",
    "seat_of",
    "standard_config",
    "start",
    "table_state",
    "time_out",
]


class IllegalMove(Exception):
    """A move that the rules refuse; the match is untouched.

    `code` is for programs; `turn`, `seat` and `roll` say what would have been right.
    As text it tells a person what to do.
    """

    def __init__(self, code: ErrorCode, match: Match) -> None:
        super().__init__(code)
        self.code = code
        self.turn = match.turn
        self.seat = match.current_seat
        self.roll = match.roll

    def __str__(self) -> str:
        if self.seat is None:
            return "the match has finished: no more moves are taken, join for another one"
        if self.code is ErrorCode.STALE_TURN:
            return f"turn {self.turn} is being played: name the turn of your own latest roll"
        if self.code is ErrorCode.NOT_YOUR_TURN:
            return f"seat {self.seat} is to act in turn {self.turn}: wait for a roll of your own"
        faces = ", ".join(str(face) for face in sorted(set(self.roll)))
        return f"that face was not rolled: place one of {faces}"


def standard_config(turn_ms: int = TURN_MS, away_ms: int = AWAY_MS) -> Config:
    """Return the constants of RULES.md with these two lengths of a turn."""
    return Config(
        rounds=ROUNDS,
        dice=DICE,
        casinos=CASINOS,
        fill_min=FILL_MIN,
        turn_ms=turn_ms,
        away_ms=away_ms,
    )


def start(  # noqa: PLR0917 - in the order in which a table is formed
    match_id: MatchId,
    contenders: Sequence[Contender],
    config: Config,
    entry_fee_hp: int,
    platform_fee_bps: int,
    server_seed: bytes,
    moment: Moment,
) -> Step:
    """Seat 3 to 5 contenders, given in any order, and roll for the first of them.

    Makes match_started, round_started and roll. `server_seed` is 32 bytes and stays secret.
    Raises ValueError if no match can be played on these terms.
    """
    _check_terms(contenders, config, entry_fee_hp, platform_fee_bps, server_seed)
    players = _seat(match_id, contenders, server_seed)
    seated = Match(
        match_id=match_id,
        seq=1,
        config=config,
        entry_fee_hp=entry_fee_hp,
        platform_fee_bps=platform_fee_bps,
        commitment=fairness.commitment(server_seed),
        entropy=fairness.opening_entropy(match_id, (player.client_seed for player in players)),
        players=players,
        started_at=moment.now_ms,
        rolled_at=moment.now_ms,
    )
    match, events = open_round(seated, server_seed, moment)
    return match, (_started(seated, moment), *events)


def place(
    match: Match,
    server_seed: bytes,
    *,
    seat: int,
    turn: int,
    face: int,
    nonce: str,
    message: str,
    moment: Moment,
) -> Step:
    """Place every die of `face` for the agent at `seat`, and go on to the next roll.

    Makes table_talk (unless `message` is empty), placed, and then roll, or round_settled with
    round_started and roll, or round_settled and match_finished. It resets the seat's row of
    automatic placements. Whether it is before the deadline is the caller's to check, at commit.
    Raises IllegalMove: stale_turn if the match has finished or `turn` is not the one under way,
    not_your_turn, illegal_face; in this order.
    """
    if match.current_seat is None or turn != match.turn:
        raise IllegalMove(ErrorCode.STALE_TURN, match)
    if seat != match.current_seat:
        raise IllegalMove(ErrorCode.NOT_YOUR_TURN, match)
    if face not in match.roll:
        raise IllegalMove(ErrorCode.ILLEGAL_FACE, match)
    player = match.players[seat]
    acted = replace(
        player,
        autos_in_a_row=0,
        think_total_ms=player.think_total_ms + (moment.now_ms - match.rolled_at),
        think_max_ms=moment.longest(player.think_max_ms, match.rolled_at),
    )
    said: tuple[TableTalk, ...] = ()
    if message:
        match, said = talk(match, seat, message, moment)
    match, events = commit_dice(
        match,
        server_seed,
        moment,
        seat=seat,
        player=acted,
        face=face,
        nonce=nonce,
        is_auto=False,
    )
    return match, (*said, *events)


def time_out(match: Match, server_seed: bytes, moment: Moment) -> Step:
    """Place the most-rolled face for the agent that let its deadline pass.

    Makes the events that `place` makes, but no talk. That the deadline has passed is the caller's
    to check. Raises IllegalMove, stale_turn, if the match has finished.
    """
    seat = match.current_seat
    if seat is None:
        raise IllegalMove(ErrorCode.STALE_TURN, match)
    player = match.players[seat]
    absent = replace(
        player,
        autos_in_a_row=player.autos_in_a_row + 1,
        auto_placements=player.auto_placements + 1,
    )
    return commit_dice(
        match,
        server_seed,
        moment,
        seat=seat,
        player=absent,
        face=auto_face(match.roll),
        nonce="",
        is_auto=True,
    )


def move_deadline(match: Match, deadline_ms: int, reason: str, moment: Moment) -> Step:
    """Give the seat to act until `deadline_ms`; makes deadline_moved.

    Raises IllegalMove, stale_turn, if the match has finished.
    """
    if match.current_seat is None:
        raise IllegalMove(ErrorCode.STALE_TURN, match)
    moved = DeadlineMoved(
        match_id=match.match_id,
        seq=match.seq + 1,
        ts=moment.now_ms,
        round=match.round,
        turn=match.turn,
        seat=match.current_seat,
        deadline=deadline_ms,
        reason=reason,
    )
    return replace(match, seq=moved.seq, deadline=deadline_ms), (moved,)


def auto_face(dice: Sequence[int]) -> int:
    """Choose the most-rolled face, ties towards the higher one (RULES.md, A match, 6)."""
    return max(dice, key=lambda face: (dice.count(face), face))


def _check_terms(
    contenders: Sequence[Contender],
    config: Config,
    entry_fee_hp: int,
    platform_fee_bps: int,
    server_seed: bytes,
) -> None:
    agents = {contender.agent_id for contender in contenders}
    # A casino overshoots its minimum by less than one biggest note.
    deck_suffices = config.casinos * (config.fill_min + BANKNOTES[-1]) <= sum(BANKNOTES)
    terms = {
        f"a match has {SEATS_MIN} to {SEATS_MAX} seats": SEATS_MIN <= len(contenders) <= SEATS_MAX,
        "an agent has one seat": len(agents) == len(contenders),
        "a match has a round": config.rounds >= 1,
        f"a seat has 1 to {DICE} dice": 1 <= config.dice <= DICE,
        f"there are {CASINOS} casinos, one for each face": config.casinos == CASINOS,
        "casinos hold a note each, and the deck fills them": config.fill_min >= 1 and deck_suffices,
        "a turn has a length": config.turn_ms >= 1 and config.away_ms >= 1,
        "a stake is not negative": entry_fee_hp >= 0,
        "an agent can pay its stake": all(contender.balance_hp >= 0 for contender in contenders),
        f"a fee is 0 to {BPS} basis points": 0 <= platform_fee_bps <= BPS,
        f"a seed has {SEED_BYTES} bytes": len(server_seed) == SEED_BYTES,
    }
    broken = [term for term, kept in terms.items() if not kept]
    if broken:
        raise ValueError(f"no match can be played on these terms: {'; '.join(broken)}")


def _seat(
    match_id: MatchId, contenders: Sequence[Contender], server_seed: bytes
) -> tuple[Player, ...]:
    by_id = {contender.agent_id: contender for contender in contenders}
    return tuple(
        Player(
            agent_id=agent_id,
            name=by_id[agent_id].name,
            client_seed=by_id[agent_id].client_seed,
            balance_hp=by_id[agent_id].balance_hp,
        )
        for agent_id in fairness.seating(server_seed, match_id, by_id)
    )


def _started(match: Match, moment: Moment) -> MatchStarted:
    return MatchStarted(
        match_id=match.match_id,
        seq=match.seq,
        ts=moment.now_ms,
        players=tuple(
            Entrant(
                seat=seat,
                agent_id=player.agent_id,
                name=player.name,
                client_seed=player.client_seed,
            )
            for seat, player in enumerate(match.players)
        ),
        config=match.config,
        entry_fee_hp=match.entry_fee_hp,
        pot_hp=match.pot_hp,
        platform_fee_bps=match.platform_fee_bps,
        commitment=match.commitment,
    )
