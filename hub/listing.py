"""Show a match as one row of a list."""

from hub.rules.match import Match
from protocol.messages import ListedMatch, ListedPlayer


def row(match: Match, *, finished_at: int | None = None, spectators: int = 0) -> ListedMatch:
    """Make the row of a match (PROTOCOL.md, `/api/matches`); `finished_at` is in ms."""
    return ListedMatch(
        match_id=match.match_id,
        status=match.status,
        round=match.round,
        turn=match.turn,
        players=tuple(
            ListedPlayer(seat=seat, agent_id=player.agent_id, name=player.name, money=player.money)
            for seat, player in enumerate(match.players)
        ),
        entry_fee_hp=match.entry_fee_hp,
        started_at=match.started_at,
        finished_at=finished_at,
        winner_seat=match.winner_seat,
        spectators=spectators,
    )
