"""Follow a hub's tables, on a live screen or as plain lines."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing

from rich.console import Console
from rich.live import Live

from protocol.client import watch, watch_lobby
from protocol.client.table import WatchMessage, apply
from protocol.messages import (
    AnyLobbyMessage,
    ListedMatch,
    Lobby,
    MatchClosed,
    MatchListed,
    Snapshot,
)

from .screen import Screen, lobby_table, waiting
from .text import describe, money, visible

FRAMES_PER_SECOND = 8
RESULT_SECONDS = 8.0  # how long a result stays before the next match is shown


class ConnectionLog(logging.Handler):
    """Pass on what the client library says about its connection."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__(logging.INFO)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        """Pass one message on."""
        self._tell(f"Reconnecting: {visible(record.getMessage())}")


async def show_match(url: str, match_id: str, console: Console) -> None:
    """Show one match on a live screen to its end; then leave its result in the terminal."""
    screen = Screen(match_id)
    with Live(screen, console=console, screen=True, refresh_per_second=FRAMES_PER_SECOND) as live:
        await _show(url, screen, live)
    console.print(screen)


async def show_floor(url: str, console: Console) -> None:
    """Show one live match after the other, until cancelled."""
    with Live(waiting(""), console=console, screen=True) as live:
        while True:
            live.update(waiting(""), refresh=True)
            screen = Screen(await _next_match(url))
            live.update(screen, refresh=True)
            await _show(url, screen, live)
            await asyncio.sleep(RESULT_SECONDS)


async def print_match(url: str, match_id: str, print_line: Callable[[str], None]) -> None:
    """Print what happens in a match from its start to its end, a line each."""
    state = None
    async with aclosing(watch(url, match_id, after=0)) as messages:
        async for message in messages:
            state = apply(state, message)
            for line in describe(message, state):
                print_line(f"{_place(message):>4}  {line}")


async def print_floor(url: str, print_line: Callable[[str], None]) -> None:
    """Print which matches are live, start and finish, a line each, until cancelled."""
    async with aclosing(watch_lobby(url)) as messages:
        async for message in messages:
            for line in _lobby_lines(message):
                print_line(line)


async def list_live(url: str, console: Console) -> None:
    """Print the live matches once."""
    lobby = await _first_lobby(url)
    rows = [
        (match.match_id, str(match.round), ", ".join(visible(p.name) for p in match.players))
        for match in lobby.live
    ]
    console.print(lobby_table(rows) if rows else "No match is being played.")


async def _show(url: str, screen: Screen, live: Live) -> None:
    def tell(notice: str) -> None:
        screen.notice = notice

    handler = ConnectionLog(tell)
    logger = logging.getLogger("protocol.client.stream")
    logger.addHandler(handler)
    try:
        async with aclosing(watch(url, screen.match_id, after=0)) as messages:
            async for message in messages:
                screen.take(message)
        live.refresh()
    finally:
        logger.removeHandler(handler)


async def _next_match(url: str) -> str:
    """Wait for a live match; the newest, if there are several."""
    async with aclosing(watch_lobby(url)) as messages:
        async for message in messages:
            match message:
                case Lobby(live=(_, *_)):
                    return max(message.live, key=lambda match: match.started_at).match_id
                case MatchListed():
                    return message.match.match_id
    raise AssertionError("the lobby's stream has no end")


async def _first_lobby(url: str) -> Lobby:
    async with aclosing(watch_lobby(url)) as messages:
        async for message in messages:
            if isinstance(message, Lobby):
                return message
    raise AssertionError("the lobby's stream has no end")


def _lobby_lines(message: AnyLobbyMessage) -> list[str]:
    match message:
        case Lobby():
            counts = f"{len(message.live)} live, {message.waiting} waiting"
            return [counts, *(f"live      {_row(match)}" for match in message.live)]
        case MatchListed():
            return [f"started   {_row(message.match)}"]
        case MatchClosed():
            return [f"finished  {_row(message.match)}"]


def _place(message: WatchMessage) -> str:
    return str(getattr(message, "seq", "")) if not isinstance(message, Snapshot) else "…"


def _row(match: ListedMatch) -> str:
    agents = ", ".join(f"{visible(player.name)} {money(player.money)}" for player in match.players)
    return f"{match.match_id}  round {match.round}  {agents}"
