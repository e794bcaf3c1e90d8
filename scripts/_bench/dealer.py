"""Play matches straight on the store, by the hub's own rules and commit script.

So a hub that only passes a table on can be measured apart from one that also moves it.
"""

import secrets
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from hub.rules import match as rules
from hub.rules.match import Contender, Match
from hub.store.stamps import AT_COMMIT, MARK, STAMP_BYTES, TIME_BYTES
from hub.store.tables import Committed, TableCopy, Tables
from protocol.messages import AgentId, AnyEvent, MatchId

from .hub import TURN_MS

SEATS = 4
TALK = "Somebody come and stop me, please."  # so that a move has three events
NONCE = "5e0d1c"
FRAME_LIMIT_BYTES = 126  # a longer frame has a header of four bytes rather than two


class Move(NamedTuple):
    """A move that is made but not committed; `wire_bytes` is what each socket will get of it."""

    match: Match
    events: tuple[AnyEvent, ...]
    known_deadline: int
    wire_bytes: int


class Play:
    """One match under way."""

    def __init__(self, copy: TableCopy, talk: str) -> None:
        self.copy = copy
        self._talk = talk
        self.match_id = copy.match.match_id

    @property
    def agents(self) -> list[AgentId]:
        """The agents by seat."""
        return [player.agent_id for player in self.copy.match.players]

    def next_move(self) -> Move:
        """Make the next move: place the face that takes the fewest dice, so that matches last."""
        match = self.copy.match
        assert match.current_seat is not None, "the match is over"
        moved, events = rules.place(
            match,
            self.copy.server_seed,
            seat=match.current_seat,
            turn=match.turn,
            face=min(match.roll, key=match.roll.count),
            nonce=NONCE,
            message=self._talk,
            moment=AT_COMMIT,
        )
        return Move(moved, events, match.deadline or 0, sum(map(_wire_bytes, events)))


class Dealer:
    """Opens tables on a store and plays them; `load_by` reads back what was committed."""

    def __init__(self, tables: Tables, load_by: Tables | None = None) -> None:
        self._tables = tables
        self._load_by = load_by or tables

    async def open(self, rounds: int | None = None, talk: str = TALK) -> Play:
        """Create a match of four agents, free of charge and outside of the lobby.

        `talk` is said with each move.
        """
        seed = secrets.token_bytes(rules.SEED_BYTES)
        config = rules.standard_config(TURN_MS)
        match_id = MatchId(secrets.token_hex(8))
        agents = [AgentId(f"{match_id}-{seat}") for seat in range(SEATS)]
        match, events = rules.start(
            match_id,
            [Contender(agent, f"Agent {seat}", "", 0) for seat, agent in enumerate(agents)],
            config if rounds is None else replace(config, rounds=rounds),
            0,
            0,
            seed,
            AT_COMMIT,
        )
        await self._tables.commit(match, events, server_seed=seed)
        return Play(await self._load(match_id), talk)

    async def commit(self, play: Play, move: Move) -> None:
        """Commit a move; made again, with as many bytes, if the hub moved the deadline meanwhile.

        It does after a pause, such as when thousands of sockets came at once.
        """
        while True:
            outcome = await self._tables.commit(
                move.match, move.events, guard="before", known_deadline=move.known_deadline
            )
            play.copy = await self._load(play.match_id)
            if isinstance(outcome, Committed):
                return
            move = play.next_move()

    async def move(self, play: Play) -> int:
        """Make and commit a move; the bytes that each socket gets of it."""
        move = play.next_move()
        await self.commit(play, move)
        return move.wire_bytes

    async def _load(self, match_id: MatchId) -> TableCopy:
        loaded = await self._load_by.load(match_id)
        assert loaded is not None
        return loaded.copy


def _wire_bytes(event: AnyEvent) -> int:
    packed = msgspec.msgpack.encode(event)
    size = len(packed) - packed.count(MARK) * (STAMP_BYTES - TIME_BYTES)
    return size + (2 if size < FRAME_LIMIT_BYTES else 4)
