"""Draw a table in a terminal, as large as the terminal is at that moment."""

import time
from collections import deque
from collections.abc import Callable, Sequence

from rich.box import SIMPLE_HEAD
from rich.columns import Columns
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from hub.rules.settlement import settle_casino, standings
from protocol.client.table import WatchMessage, apply
from protocol.messages import (
    CasinoState,
    Crowd,
    MatchFinished,
    PlayerState,
    Roll,
    Snapshot,
    TableState,
    TableTalk,
)

from .text import MARKS, describe, dice, money, visible, who

SEAT_STYLES = ("deep_sky_blue1", "gold1", "orange_red1", "plum2", "grey93")
EVENTS_KEPT = 200
TALK_SHOWN = 6
HEADER_LINES = 11  # of what is above the lists, and their frame, but for the tables' rows
NAME_COLUMNS = 24  # of a name and its mark; longer ones are cut
NARROW_COLUMNS = 84  # below this many, names are left out of the casinos

Now = Callable[[], float]


class Screen:
    """One table as it stands, drawn anew whenever it is rendered."""

    def __init__(self, match_id: str, now: Now = time.time) -> None:
        self.match_id = match_id
        self.state: TableState | None = None
        self.notice = ""
        self._spectators = 0  # until the hub says how many there are
        self._now = now
        self._turn_ms = 0
        self._ahead_ms = float("-inf")  # of the hub's clock, as far as the events tell
        self._events: deque[str] = deque(maxlen=EVENTS_KEPT)

    def take(self, message: WatchMessage) -> None:
        """Take in what the hub said."""
        self.state = apply(self.state, message)
        self.notice = ""
        if ts := getattr(message, "ts", None):
            self._ahead_ms = max(self._ahead_ms, ts - self._now() * 1000)
        if isinstance(message, Crowd | Snapshot):
            self._spectators = message.spectators
        if isinstance(message, Roll):
            self._turn_ms = message.turn_ms
        if not isinstance(message, Roll | TableTalk | MatchFinished):
            self._events.extend(describe(message, self.state))

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the table from the top; the lists get the lines that are left."""
        if self.state is None:
            yield Text(f"Opening match {visible(self.match_id)} … {self.notice}")
            return
        narrow = options.max_width < NARROW_COLUMNS
        yield Group(
            self._headline(self.state),
            self._stage(self.state),
            _casinos(self.state, narrow),
            _standings(self.state),
            self._lists(self.state, options, narrow),
        )

    def _headline(self, state: TableState) -> Text:
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append("Claw Vegas ", "bold gold3")
        line.append(
            f" match {visible(self.match_id)}  round {state.round}/{state.rounds}"
            f"  turn {state.turn}  pot {state.pot_hp} HP"
        )
        if self._spectators and state.status == "playing":
            line.append(f"  {self._spectators} watching", "dim")
        if self.notice:
            line.append(f"  {self.notice}", "bold black on yellow")
        return line

    def _stage(self, state: TableState) -> RenderableType:
        if state.status == "finished":
            return Panel(Group(_outcome(state), ""), border_style="gold3")
        if state.current_seat is None:
            return Panel(Group("", ""), border_style="green")
        player = state.players[state.current_seat]
        line = Text.assemble(_name(player), f" rolls {dice(len(state.roll))}  ")
        for face in state.roll:
            line.append(f" {face} ", f"bold black on {SEAT_STYLES[player.seat]}").append(" ")
        return Panel(Group(line, self._time_left(state)), border_style=SEAT_STYLES[player.seat])

    def _time_left(self, state: TableState) -> RenderableType:
        if state.deadline is None:
            return Text("")
        left_ms = max(0.0, state.deadline - self._now() * 1000 - max(self._ahead_ms, -1e12))
        grid = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=max(self._turn_ms, left_ms, 1), completed=left_ms, width=30)
        grid.add_row(bar, Text(f"{left_ms / 1000:.0f} s"))
        return grid

    def _lists(self, state: TableState, options: ConsoleOptions, narrow: bool) -> RenderableType:
        used = HEADER_LINES + len(state.casinos) + len(state.players)
        lines = max(1, options.max_height - used)
        events = Text("\n".join(list(self._events)[-lines:]), overflow="ellipsis", no_wrap=True)
        talk = Text("\n", overflow="fold").join(_talk(state)[-min(lines, TALK_SHOWN) :])
        panels = Table.grid(expand=True)
        panels.add_column(ratio=3)
        panels.add_column(ratio=2)
        if narrow:
            return Panel(events, title="Events", border_style="dim", height=lines + 2)
        panels.add_row(
            Panel(events, title="Events", border_style="dim", height=lines + 2),
            Panel(talk, title="Table talk", border_style="dim", height=lines + 2),
        )
        return panels


def lobby_table(rows: Sequence[tuple[str, str, str]]) -> RenderableType:
    """List live matches: id, round, and the agents."""
    table = Table("match", "round", "agents", border_style="dim", expand=False)
    for match_id, round, agents in rows:
        table.add_row(Text(match_id), Text(round), Text(agents))
    return table


def waiting(notice: str) -> RenderableType:
    """Say that there is nothing to see yet."""
    text = "No match is being played. The next one is shown as soon as it starts."
    return Columns([Panel(Text(f"{text}\n{notice}"), title="Claw Vegas", border_style="gold3")])


def _name(player: PlayerState) -> Text:
    name = Text(who(player), f"bold {SEAT_STYLES[player.seat]}")
    name.truncate(NAME_COLUMNS, overflow="ellipsis")
    return name


def _outcome(state: TableState) -> Text:
    if state.winner_seat is None:
        return Text("Nobody played, so nobody wins.")
    winner = state.players[state.winner_seat]
    return Text.assemble(_name(winner), f" wins with {money(winner.money)}")


def _casinos(state: TableState, narrow: bool) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, border_style="green", expand=True)
    table.add_column("Casino", no_wrap=True)
    table.add_column("Notes", no_wrap=True)
    for player in state.players:
        heading = Text(MARKS[player.seat]) if narrow else Text(who(player))
        heading.stylize(SEAT_STYLES[player.seat])
        table.add_column(heading, no_wrap=True, overflow="ellipsis", ratio=1)
    for casino in state.casinos:
        table.add_row(*_casino_row(casino, len(state.players), narrow))
    return table


def _casino_row(casino: CasinoState, seats: int, narrow: bool) -> list[Text]:
    notes = Text(" ".join(money(bill) for bill in casino.bills), "bold")
    cells = [_seat_cell(casino, seat, narrow) for seat in range(seats)]
    return [Text(f"  {casino.number}", "bold gold3"), notes, *cells]


def _seat_cell(casino: CasinoState, seat: int, narrow: bool) -> Text:
    """Show a seat's dice at a casino, and what it would be paid; ties are struck out."""
    count = casino.dice[seat]
    if not count:
        return Text("·", "dim")
    outcome = settle_casino(casino.number, casino.bills, casino.dice)
    shown = str(count) if narrow else f"{count} {'■' * count}"
    if any(seat in tied for tied in outcome.cancelled):
        return Text.assemble((shown, "strike dim red"), (" tie", "bold red"))
    bill = next((award.bill for award in outcome.awards if award.seat == seat), None)
    verdict = f" {money(bill)}" if bill else " -"
    return Text.assemble((shown, f"bold {SEAT_STYLES[seat]}"), (verdict, "bold" if bill else "dim"))


def _standings(state: TableState) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, border_style="dim", expand=True)
    table.add_column("Standings", ratio=3, no_wrap=True, overflow="ellipsis")
    for title in ("Money", "Notes", "Dice left"):
        table.add_column(title, justify="right", no_wrap=True, min_width=len(title))
    money_by_seat = [player.money for player in state.players]
    bills_by_seat = [player.bills_won for player in state.players]
    for seat in standings(money_by_seat, bills_by_seat):
        table.add_row(*_standing(state.players[seat], state.current_seat == seat))
    return table


def _standing(player: PlayerState, acts: bool) -> list[Text]:
    name = _name(player)
    name.append(" ◀ to act" if acts else "", "bold")
    name.append(" away" if player.away else "", "red")
    name.append("" if player.connected else " offline", "red")
    numbers = (money(player.money), str(player.bills_won), str(player.dice_remaining))
    return [name, *map(Text, numbers)]


def _talk(state: TableState) -> list[Text]:
    return [
        Text.assemble(_name(state.players[line.seat]), f": {visible(line.message)}")
        for line in state.recent_talk
    ]
