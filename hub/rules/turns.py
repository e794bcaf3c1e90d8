"""How a match goes on: rounds, rolls, placements, settlements.

Each function takes a match and returns the next one with the events that lead to it, in the order
in which they leave the hub (PROTOCOL.md, Hub to client). Source: RULES.md, A match, 2 to 8.
"""

from msgspec.structs import replace

from protocol.messages import (
    AnyEvent,
    CasinoNotes,
    MatchFinished,
    Placed,
    Roll,
    RoundSettled,
    RoundStarted,
    TableTalk,
)

from . import fairness
from .constants import RECENT_TALK
from .settlement import settle_round, standings, turn_order
from .summary import summarize
from .table import Casino, Match, Moment, Player, TalkedLine, legal_actions

Step = tuple[Match, tuple[AnyEvent, ...]]


def open_round(match: Match, server_seed: bytes, moment: Moment) -> Step:
    """Fill the casinos, hand out the dice and roll for the first seat: round_started, roll."""
    config = match.config
    seats = len(match.players)
    round = match.round + 1
    notes = fairness.deal(server_seed, match.entropy, round, config.casinos, config.fill_min)
    match = replace(
        match,
        seq=match.seq + 1,
        round=round,
        turn_order=turn_order(seats, round),
        casinos=tuple(Casino(bills=bills, dice=(0,) * seats) for bills in notes),
        players=tuple(replace(player, dice_remaining=config.dice) for player in match.players),
    )
    started = RoundStarted(
        match_id=match.match_id,
        seq=match.seq,
        ts=moment.now_ms,
        round=round,
        casinos=tuple(
            CasinoNotes(number=number, bills=bills) for number, bills in enumerate(notes, 1)
        ),
        turn_order=match.turn_order,
    )
    match, rolled = _roll(match, server_seed, match.turn_order[0], moment)
    return match, (started, rolled)


def talk(match: Match, seat: int, message: str, moment: Moment) -> tuple[Match, tuple[TableTalk]]:
    """Say something with a placement that is about to follow."""
    line = TalkedLine(round=match.round, turn=match.turn, seat=seat, message=message)
    match = replace(
        match,
        seq=match.seq + 1,
        recent_talk=(*match.recent_talk, line)[-RECENT_TALK:],
    )
    said = TableTalk(
        match_id=match.match_id,
        seq=match.seq,
        ts=moment.now_ms,
        round=match.round,
        turn=match.turn,
        seat=seat,
        message=message,
    )
    return match, (said,)


def commit_dice(
    match: Match,
    server_seed: bytes,
    moment: Moment,
    *,
    seat: int,
    player: Player,
    face: int,
    nonce: str,
    is_auto: bool,
) -> Step:
    """Place a face and go on: placed, and then what follows it.

    `player` is the one at `seat`, with all that says who acted, and how fast, up to date.
    """
    count = match.roll.count(face)
    player = replace(
        player,
        dice_remaining=player.dice_remaining - count,
        placements=player.placements + 1,
    )
    match = replace(
        match,
        seq=match.seq + 1,
        entropy=fairness.next_entropy(match.entropy, match.turn, seat, face, nonce),
        casinos=_add_dice(match.casinos, face, seat, count),
        players=(*match.players[:seat], player, *match.players[seat + 1 :]),
    )
    placed = Placed(
        match_id=match.match_id,
        seq=match.seq,
        ts=moment.now_ms,
        round=match.round,
        turn=match.turn,
        seat=seat,
        face=face,
        count=count,
        nonce=nonce,
        is_auto=is_auto,
        dice_remaining=player.dice_remaining,
        entropy=match.entropy.hex(),
        away=player.away,
    )
    match, events = _go_on(match, server_seed, seat, moment)
    return match, (placed, *events)


def _add_dice(
    casinos: tuple[Casino, ...], number: int, seat: int, count: int
) -> tuple[Casino, ...]:
    casino = casinos[number - 1]
    dice = list(casino.dice)
    dice[seat] += count  # a face may come up again in a later turn
    changed = Casino(bills=casino.bills, dice=tuple(dice))
    return (*casinos[: number - 1], changed, *casinos[number:])


def _go_on(match: Match, server_seed: bytes, seat: int, moment: Moment) -> Step:
    following = _next_seat(match, seat)
    if following is not None:
        match, rolled = _roll(match, server_seed, following, moment)
        return match, (rolled,)
    match, settled = _settle(match, moment)
    if match.round < match.config.rounds:
        match, events = open_round(match, server_seed, moment)
        return match, (settled, *events)
    match, finished = _finish(match, server_seed, moment)
    return match, (settled, finished)


def _next_seat(match: Match, seat: int) -> int | None:
    """Find the next seat upwards from `seat`, itself last, that has dice left."""
    seats = len(match.players)
    for step in range(1, seats + 1):
        following = (seat + step) % seats
        if match.players[following].dice_remaining:
            return following
    return None


def _roll(match: Match, server_seed: bytes, seat: int, moment: Moment) -> tuple[Match, Roll]:
    player = match.players[seat]
    turn = match.turn + 1
    turn_ms = match.config.away_ms if player.away else match.config.turn_ms
    deadline = moment.now_ms + turn_ms
    dice = fairness.roll(server_seed, match.entropy, turn, player.dice_remaining)
    match = replace(
        match,
        seq=match.seq + 1,
        turn=turn,
        current_seat=seat,
        roll=dice,
        rolled_at=moment.now_ms,
        deadline=deadline,
    )
    rolled = Roll(
        match_id=match.match_id,
        seq=match.seq,
        ts=moment.now_ms,
        round=match.round,
        turn=turn,
        seat=seat,
        dice=dice,
        deadline=deadline,
        turn_ms=turn_ms,
        legal_actions=legal_actions(dice),
    )
    return match, rolled


def _settle(match: Match, moment: Moment) -> tuple[Match, RoundSettled]:
    result = settle_round(match.round, match.casinos, match.money, match.bills_won)
    totals = zip(match.players, result.money, result.bills_won, strict=True)
    match = replace(
        match,
        seq=match.seq + 1,
        players=tuple(
            replace(player, money=money, bills_won=bills_won) for player, money, bills_won in totals
        ),
        settled=(*match.settled, match.casinos),
    )
    settled = RoundSettled(
        match_id=match.match_id,
        seq=match.seq,
        ts=moment.now_ms,
        round=result.round,
        casinos=result.casinos,
        money=result.money,
        bills_won=result.bills_won,
    )
    return match, settled


def _finish(match: Match, server_seed: bytes, moment: Moment) -> tuple[Match, MatchFinished]:
    """End the match: without a winner if nobody made one placement of its own (RULES.md, Score)."""
    order = standings(match.money, match.bills_won)
    acted = any(player.placements > player.auto_placements for player in match.players)
    match = replace(
        match,
        seq=match.seq + 1,
        status="finished",
        current_seat=None,
        roll=(),
        deadline=None,
        winner_seat=order[0] if acted else None,
    )
    finished = MatchFinished(
        match_id=match.match_id,
        seq=match.seq,
        ts=moment.now_ms,
        finish_reason="completed" if acted else "no_actions",
        winner_seat=match.winner_seat,
        standings=order,
        summary=summarize(match, moment.now_ms),
        server_seed=server_seed.hex(),
        entropy=match.entropy.hex(),
    )
    return match, finished
