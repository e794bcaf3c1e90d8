"""Play real matches: join, place a face of each own roll after a thought, join again."""

import asyncio
import random
import time

from hub.tokens import issue
from protocol.codec import encode
from protocol.messages import Action, Join, PlaceParams

from .client import Client, Meter
from .stream import Glance, Seat

TOKEN_HOURS = 48.0
SEATS = 4
NO_OUTCOME_YET = {"unavailable", "draining", "rate_limited"}
RETRY_MS = 500


def agent_prefix(run_id: str) -> str:
    """Say what the ids of a run's agents begin with."""
    return f"load-{run_id}-"


class Bot(Client):
    """An agent that plays free matches, one after the other."""

    def __init__(self, meter: Meter, url: str, number: int, *, loses: bool) -> None:
        super().__init__(meter, url, loses=loses)
        load = meter.load
        self._agent_id = f"{agent_prefix(load.run_id)}{number}"
        self._token = issue(load.secret, self._agent_id, f"Load {number}", TOKEN_HOURS)
        self._seat = -1
        self._action: Action | None = None  # that has no outcome yet
        self._intended = 0.0  # when it was to be sent, had this process not been late
        self._actions = 0
        self._started = time.monotonic()

    async def path(self) -> str:
        """Play on where it was."""
        return "/play" + self.stream.query

    def token(self) -> str:
        """Show who it is."""
        return self._token

    def take(self, message: Glance) -> None:
        """Take one message."""
        match message.type:
            case "welcome":
                self._enter(message)
            case "ack":
                self._settle(message)
            case "error":
                self._heed(message)
            case _ if self.stream.note(message, self.meter.tally):
                self._follow(message)

    def _enter(self, welcome: Glance) -> None:
        self.meter.clock.welcome(welcome.now)
        if welcome.match_id is None and not welcome.queued:
            self._post(Join(fee_min=0, fee_max=0, continuous=True))
        elif self._action is not None and self._intended <= time.monotonic():
            self._post(self._action)  # the same id again: it counts once

    def _follow(self, message: Glance) -> None:
        if message.type == "match_started":
            self._sit(message.players)
        elif message.type == "snapshot" and message.state is not None:
            self._sit(message.state.players)
            if message.state.current_seat == self._seat:
                self._think(message.match_id or "", message.state.turn, message.state.roll)
        elif message.type == "roll" and message.seat == self._seat:
            self._measure_roll(message)
            self._think(message.match_id or "", message.turn, message.dice)
        elif message.type == "match_finished":
            self.meter.tally.matches += int(self._seat == 0)
            self._action = None
            self.stream.end()

    def _sit(self, players: tuple[Seat, ...]) -> None:
        self._action = None
        self._seat = next(each.seat for each in players if each.agent_id == self._agent_id)

    def _think(self, match_id: str, turn: int, dice: tuple[int, ...]) -> None:
        if self._action is not None and self._action.turn == turn:
            return  # it is on its way already
        self._actions += 1
        self._action = Action(
            id=f"{turn}",
            match_id=match_id,
            turn=turn,
            action="place",
            params=PlaceParams(face=random.choice(dice)),
        )
        thought_s = self.meter.load.think_s * random.uniform(0.5, 1.5)
        self._intended = time.monotonic() + thought_s
        asyncio.get_running_loop().call_later(thought_s, self._place, self._action)

    def _place(self, action: Action) -> None:
        if action is self._action:
            self._post(action)

    def _settle(self, ack: Glance) -> None:
        if self._action is None or ack.id != self._action.id:
            return
        self._action = None
        tally = self.meter.tally
        tally.moves += 1
        tally.replayed += ack.replayed
        if self.meter.measuring:
            took_us = round((time.monotonic() - self._intended) * 1e6)
            tally.latency("ack").record_corrected(took_us, self._interval_us())

    def _heed(self, error: Glance) -> None:
        self.meter.tally.error(str(error.code))
        if error.id is None or self._action is None or error.id != self._action.id:
            return
        action = self._action
        if error.code in NO_OUTCOME_YET:
            retry_ms = RETRY_MS if error.retry_ms is None else error.retry_ms
            asyncio.get_running_loop().call_later(retry_ms / 1000, self._place, action)
        else:
            self._action = None

    def _measure_roll(self, roll: Glance) -> None:
        late_us = self.lateness_us(roll)
        if late_us is not None:
            self.meter.tally.latency("roll").record_corrected(late_us, self._interval_us())

    def _interval_us(self) -> int:
        """Return how long a bot's turns are apart: as planned, or without thinking, as they were.

        0 if that is not known yet.
        """
        interval_s = self.meter.load.think_s * SEATS
        if not interval_s and self._actions:
            interval_s = (time.monotonic() - self._started) / self._actions
        return round(interval_s * 1e6)

    def _post(self, command: Join | Action) -> None:
        if self.connection is not None:
            self.connection.post(encode(command, "msgpack"))
