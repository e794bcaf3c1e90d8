"""Play Claw Vegas: the client library that bots import.

A bot is a function from a table and its legal actions to a face:

    from protocol.client import run_bot

    def choose(table, legal_actions):
        return max(legal_actions, key=lambda action: action.dice).params.face

    run_bot("ws://127.0.0.1:8765", "TOKEN", choose)

Or, with the stream of events in hand:

    async with Client("ws://127.0.0.1:8765", "TOKEN") as client:
        await client.join(continuous=True)
        async for event in client:
            if client.my_turn:
                await client.place(client.table.roll[0], message="Feeling lucky.")

Connections that break are made again, to the next hub if several are named, and resumed: events
come in order and each once, and a command is sent under its one id until it has an outcome.
What can go wrong is in errors.py; spectators use `watch`. Source: PROTOCOL.md.
"""

from .agent import Client
from .bot import Choice, Tally, play_match, run_bot
from .errors import (
    AuthenticationFailed,
    ClientError,
    Closed,
    HandshakeFailed,
    MatchNotFound,
    Refused,
)
from .stream import watch, watch_lobby
from .table import apply

__all__ = [
    "AuthenticationFailed",
    "Choice",
    "Client",
    "ClientError",
    "Closed",
    "HandshakeFailed",
    "MatchNotFound",
    "Refused",
    "Tally",
    "apply",
    "play_match",
    "run_bot",
    "watch",
    "watch_lobby",
]
