"""A table as the rules see it: the state of one match, and what can be read off it.

The structs pack as arrays, not maps, because the whole state is loaded and stored with each move.
"""

from collections.abc import Sequence
from functools import cache
from typing import Literal

import msgspec

from protocol.messages import (
    AgentId,
    CasinoState,
    LegalAction,
    LegalParams,
    ListedMatch,
    ListedPlayer,
    MatchConfig,
    MatchId,
    PlayerState,
    TableState,
    TalkLine,
)

from .constants import AWAY_AFTER

Config = MatchConfig


class Moment(msgspec.Struct, frozen=True, gc=False):
    """When a transition happens, in ms since the epoch by the shared store's clock.

    The store passes a subclass whose `now_ms` stands for a time that is known only at the commit.
    So the rules never compare a time; they copy it, add to it, subtract an earlier one from it,
    and leave the one comparison they need to `longest`.
    """

    now_ms: int

    def longest(self, before_ms: int, since_ms: int) -> int:
        """Return the longer of `before_ms` and the time that has passed since `since_ms`."""
        return max(before_ms, self.now_ms - since_ms)


class Contender(msgspec.Struct, frozen=True, gc=False):
    """An agent that is about to be seated; `balance_hp` is its HP after its stake was taken."""

    agent_id: AgentId
    name: str
    client_seed: str
    balance_hp: int


class Casino(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A casino during a round: its notes, biggest first, and the dice each seat has there."""

    bills: tuple[int, ...]
    dice: tuple[int, ...]


class Player(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A seat during a match.

    `placements` counts all of the seat's placements, `auto_placements` those of them that were
    automatic. Think times, from a roll's commit to its placement's, are of its own ones only.
    """

    agent_id: AgentId
    name: str
    client_seed: str
    balance_hp: int
    dice_remaining: int = 0
    money: int = 0
    bills_won: int = 0
    autos_in_a_row: int = 0
    auto_placements: int = 0
    placements: int = 0
    think_total_ms: int = 0
    think_max_ms: int = 0

    @property
    def away(self) -> bool:
        """Tell whether the seat's turns are short until it acts (RULES.md, An absent agent)."""
        return self.autos_in_a_row >= AWAY_AFTER


class TalkedLine(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A line of table talk."""

    round: int
    turn: int
    seat: int
    message: str


class Match(msgspec.Struct, frozen=True, gc=False, array_like=True, kw_only=True):
    """Everything about a match but its secret seed.

    `seq` is the number of the newest event. `players` and each casino's `dice` go by seat.
    `settled` holds the casinos of the rounds that are over; their settlements follow from them.
    When the match has finished there is no current seat, roll or deadline.
    """

    match_id: MatchId
    seq: int
    status: Literal["playing", "finished"] = "playing"
    config: Config
    entry_fee_hp: int
    platform_fee_bps: int
    commitment: str
    entropy: bytes
    round: int = 0
    turn: int = 0
    current_seat: int | None = None
    roll: tuple[int, ...] = ()
    turn_order: tuple[int, ...] = ()
    casinos: tuple[Casino, ...] = ()
    players: tuple[Player, ...]
    settled: tuple[tuple[Casino, ...], ...] = ()
    recent_talk: tuple[TalkedLine, ...] = ()
    started_at: int
    rolled_at: int
    deadline: int | None = None
    winner_seat: int | None = None

    @property
    def pot_hp(self) -> int:
        """Return the sum of all stakes, in HP."""
        return self.entry_fee_hp * len(self.players)

    @property
    def money(self) -> tuple[int, ...]:
        """Return what each seat has won, in dollars."""
        return tuple(player.money for player in self.players)

    @property
    def bills_won(self) -> tuple[int, ...]:
        """Return how many notes each seat has won."""
        return tuple(player.bills_won for player in self.players)


def seat_of(match: Match, agent_id: AgentId) -> int | None:
    """Find an agent's seat; None if it has none at this table."""
    for seat, player in enumerate(match.players):
        if player.agent_id == agent_id:
            return seat
    return None


@cache  # there are 3,002 rolls of eight dice or fewer
def legal_actions(roll: tuple[int, ...]) -> tuple[LegalAction, ...]:
    """List what may be done with a roll: one placement for each face in it, ascending."""
    return tuple(
        LegalAction(
            action="place", params=LegalParams(face=face), casino=face, dice=roll.count(face)
        )
        for face in sorted(set(roll))
    )


def table_state(match: Match, connected: Sequence[bool]) -> TableState:
    """Show a match as a snapshot does (PROTOCOL.md, `state`); `connected` goes by seat."""
    return TableState(
        round=match.round,
        rounds=match.config.rounds,
        turn=match.turn,
        turn_order=match.turn_order,
        current_seat=match.current_seat,
        roll=match.roll,
        deadline=match.deadline,
        casinos=_casino_states(match),
        players=_player_states(match, connected),
        legal_actions=legal_actions(match.roll),
        entry_fee_hp=match.entry_fee_hp,
        pot_hp=match.pot_hp,
        commitment=match.commitment,
        entropy=match.entropy.hex(),
        recent_talk=_talk_lines(match),
        status=match.status,
        winner_seat=match.winner_seat,
    )


def list_row(match: Match, *, finished_at: int | None = None, spectators: int = 0) -> ListedMatch:
    """Show a match as a row of a list (PROTOCOL.md, `/api/matches`); `finished_at` is in ms."""
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


def _casino_states(match: Match) -> tuple[CasinoState, ...]:
    return tuple(
        CasinoState(number=number, bills=casino.bills, dice=casino.dice)
        for number, casino in enumerate(match.casinos, 1)
    )


def _player_states(match: Match, connected: Sequence[bool]) -> tuple[PlayerState, ...]:
    return tuple(
        PlayerState(
            seat=seat,
            agent_id=player.agent_id,
            name=player.name,
            dice_remaining=player.dice_remaining,
            money=player.money,
            bills_won=player.bills_won,
            away=player.away,
            connected=connected[seat],
        )
        for seat, player in enumerate(match.players)
    )


def _talk_lines(match: Match) -> tuple[TalkLine, ...]:
    return tuple(
        TalkLine(round=line.round, turn=line.turn, seat=line.seat, message=line.message)
        for line in match.recent_talk
    )
