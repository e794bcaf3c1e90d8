"""Put names, talk and events into text that is safe to show in a terminal."""

import unicodedata
from collections.abc import Callable, Sequence

from protocol.client.table import WatchMessage
from protocol.messages import (
    Award,
    CasinoSettlement,
    DeadlineMoved,
    MatchFinished,
    MatchStarted,
    Placed,
    PlayerState,
    Roll,
    RoundSettled,
    RoundStarted,
    TableState,
    TableTalk,
)

MARKS = "●▲■◆★"  # a seat's mark, as on the live page
REPLACED = "\N{REPLACEMENT CHARACTER}"

# Controls, invisible formatting (writing direction among it), halves of pairs, line separators.
_UNSAFE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"  # what emoji and some scripts are made with


def visible(text: str) -> str:
    """Replace what could move the cursor, hide or reorder text by a visible mark."""
    return "".join(map(_visible, text))


def money(dollars: int) -> str:
    """Write dollars in thousands: $90k."""
    return f"${dollars // 1000}k" if dollars % 1000 == 0 else f"${dollars:,}"


def dice(count: int) -> str:
    """Count dice: 1 die, 2 dice."""
    return "1 die" if count == 1 else f"{count} dice"


def who(player: PlayerState) -> str:
    """Write a seat's mark and its agent's name."""
    return f"{MARKS[player.seat]} {visible(player.name)}"


def describe(message: WatchMessage, state: TableState) -> list[str]:
    """Tell what a message says, a sentence a line; `state` is the table after it."""
    tell = _SENTENCES.get(type(message))
    return [] if tell is None else tell(message, state.players)


def _visible(character: str) -> str:
    if character in _JOINERS or unicodedata.category(character) not in _UNSAFE:
        return character
    return REPLACED


def _started(event: MatchStarted, _players: Sequence[PlayerState]) -> list[str]:
    return [f"The match starts; the pot holds {event.pot_hp} HP."]


def _round_started(event: RoundStarted, _players: Sequence[PlayerState]) -> list[str]:
    notes = (
        f"{casino.number}: {' '.join(money(bill) for bill in casino.bills)}"
        for casino in event.casinos
    )
    return [f"Round {event.round}. Casinos {', '.join(notes)}."]


def _rolled(event: Roll, players: Sequence[PlayerState]) -> list[str]:
    return [f"{who(players[event.seat])} rolls {' '.join(map(str, event.dice))}."]


def _placed(event: Placed, players: Sequence[PlayerState]) -> list[str]:
    how = "has placed for it, out of time," if event.is_auto else "places"
    return [f"{who(players[event.seat])} {how} {dice(event.count)} on casino {event.face}."]


def _talked(event: TableTalk, players: Sequence[PlayerState]) -> list[str]:
    return [f"{who(players[event.seat])}: {visible(event.message)}"]


def _moved(event: DeadlineMoved, players: Sequence[PlayerState]) -> list[str]:
    return [f"{who(players[event.seat])} gets back the time that an outage took."]


def _settled(event: RoundSettled, players: Sequence[PlayerState]) -> list[str]:
    paid = [line for casino in event.casinos for line in _payout(casino, players)]
    totals = ", ".join(f"{who(player)} {money(event.money[player.seat])}" for player in players)
    return [*paid, f"After round {event.round}: {totals}."]


def _payout(casino: CasinoSettlement, players: Sequence[PlayerState]) -> list[str]:
    parts = [_award(award, casino, players) for award in casino.awards]
    for seats in casino.cancelled:
        tied = " and ".join(who(players[seat]) for seat in seats)
        parts.append(f"{tied} tie with {casino.dice[seats[0]]} and are cancelled")
    return [f"Casino {casino.number}: {'; '.join(parts)}."] if parts else []


def _award(award: Award, casino: CasinoSettlement, players: Sequence[PlayerState]) -> str:
    count = casino.dice[award.seat]
    return f"{who(players[award.seat])} takes {money(award.bill)} with {count}"


def _finished(event: MatchFinished, players: Sequence[PlayerState]) -> list[str]:
    if event.winner_seat is None:
        return ["The match is over. Nobody played, so nobody wins."]
    winner = players[event.winner_seat]
    return [f"{who(winner)} wins with {money(winner.money)}."]


_SENTENCES: dict[type, Callable[..., list[str]]] = {
    MatchStarted: _started,
    RoundStarted: _round_started,
    Roll: _rolled,
    Placed: _placed,
    TableTalk: _talked,
    DeadlineMoved: _moved,
    RoundSettled: _settled,
    MatchFinished: _finished,
}
