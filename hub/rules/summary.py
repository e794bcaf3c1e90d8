"""A finished match in one page: players, ties, and what it did to everyone's HP.

Source: RULES.md, Score; PROTOCOL.md, `summary`.
"""

from collections.abc import Sequence

from protocol.messages import (
    CasinoSettlement,
    HpMovement,
    MatchSummary,
    NotableTie,
    PlayerSummary,
    RoundResult,
    ThinkTime,
)

from .constants import BPS
from .settlement import settle_rounds
from .table import Match, Player


def summarize(match: Match, finished_at: int) -> MatchSummary:
    """Sum up a match whose rounds are all settled and whose winner, if any, is known."""
    rounds = settle_rounds(match.settled, len(match.players))
    return MatchSummary(
        match_id=match.match_id,
        started_at=match.started_at,
        finished_at=finished_at,
        players=tuple(_sum_up(seat, player) for seat, player in enumerate(match.players)),
        rounds=rounds,
        notable_ties=notable_ties(rounds),
        winner_seat=match.winner_seat,
        hp_movement=hp_movement(
            match.players, match.entry_fee_hp, match.platform_fee_bps, match.winner_seat
        ),
    )


def notable_ties(rounds: Sequence[RoundResult]) -> tuple[NotableTie, ...]:
    """List the ties that cancelled a payout: biggest note denied first, then as they happened.

    A tied group would have been in line for the note after those of all uncancelled seats with
    more dice, which are paid first. A group that no note was left for is not notable.
    """
    ties = [tie for result in rounds for casino in result.casinos for tie in _ties(result, casino)]
    return tuple(sorted(ties, key=lambda tie: -tie.bill_denied))


def platform_fee(pot_hp: int, platform_fee_bps: int) -> int:
    """Return the platform's part of a pot, in HP, rounded down."""
    return pot_hp * platform_fee_bps // BPS


def hp_movement(
    players: Sequence[Player], entry_fee_hp: int, platform_fee_bps: int, winner_seat: int | None
) -> tuple[HpMovement, ...]:
    """Pay the pot less the platform fee to the winner, by seat; in HP.

    Without a winner nobody acted, so every stake goes back and no fee is taken.
    """
    payouts = _payouts(len(players), entry_fee_hp, platform_fee_bps, winner_seat)
    return tuple(
        HpMovement(
            seat=seat,
            agent_id=player.agent_id,
            staked=entry_fee_hp,
            payout=payouts[seat],
            movement=payouts[seat] - entry_fee_hp,
            balance=player.balance_hp + payouts[seat],
        )
        for seat, player in enumerate(players)
    )


def _payouts(
    seats: int, entry_fee_hp: int, platform_fee_bps: int, winner_seat: int | None
) -> tuple[int, ...]:
    if winner_seat is None:
        return (entry_fee_hp,) * seats
    pot_hp = entry_fee_hp * seats
    prize = pot_hp - platform_fee(pot_hp, platform_fee_bps)
    return tuple(prize if seat == winner_seat else 0 for seat in range(seats))


def _ties(result: RoundResult, casino: CasinoSettlement) -> list[NotableTie]:
    ties = []
    for seats in casino.cancelled:
        count = casino.dice[seats[0]]
        paid_first = sum(casino.dice[award.seat] > count for award in casino.awards)
        if paid_first < len(casino.bills):
            ties.append(
                NotableTie(
                    round=result.round,
                    casino=casino.number,
                    seats=seats,
                    count=count,
                    bill_denied=casino.bills[paid_first],
                )
            )
    return ties


def _sum_up(seat: int, player: Player) -> PlayerSummary:
    return PlayerSummary(
        seat=seat,
        agent_id=player.agent_id,
        name=player.name,
        money=player.money,
        bills_won=player.bills_won,
        auto_placements=player.auto_placements,
        placements=player.placements,
        think_ms=ThinkTime(total=player.think_total_ms, max=player.think_max_ms),
    )
