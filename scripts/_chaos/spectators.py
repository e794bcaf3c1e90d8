"""Watch matches and the lobby with the client library: from the start, from anywhere, and leave."""

import asyncio
import random
from collections.abc import Sequence
from contextlib import aclosing

from protocol.client import ClientError, watch, watch_lobby
from protocol.codec import Format

from .bots import Live
from .troubles import Troubles
from .view import View

IDLE_S = 0.2  # between looks for a match to watch
LOBBY_S = (1.0, 10.0)  # how long the lobby is watched
WATCHES_LOBBY = 0.1  # how often it is the lobby that is watched
LEAVES_EARLY = 0.3  # how often a match is not watched to its end
EARLY_MESSAGES = 40  # the most that are seen of it then


class Spectator:
    """One spectator, who watches one thing after the other."""

    def __init__(
        self,
        name: str,
        urls: Sequence[str],
        *,
        format: Format,
        chance: random.Random,
        live: Live,
        troubles: Troubles,
    ) -> None:
        self.name = name
        self.view = View(name, troubles)
        self._urls = urls
        self._format: Format = format
        self._chance = chance
        self._live = live
        self._troubles = troubles

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            try:
                await self._watch_something()
            except ClientError as error:
                self._troubles.report("client gave up", self.name, detail=repr(error))
                await asyncio.sleep(IDLE_S)

    async def _watch_something(self) -> None:
        if self._chance.random() < WATCHES_LOBBY:
            await self._watch_lobby()
        elif self._live.seqs:
            await self._watch_match(self._chance.choice(list(self._live.seqs)))
        else:
            await asyncio.sleep(IDLE_S)

    async def _watch_match(self, match_id: str) -> None:
        known = self._live.seqs[match_id]
        after = self._chance.choice([None, 0, self._chance.randint(0, known)])
        view = View(self.name, self._troubles)
        view.start(match_id, after)
        left = self._chance.randint(1, EARLY_MESSAGES) if self._leaves_early() else None
        stream = watch(self._urls, match_id, after=after, format=self._format)
        async with aclosing(stream) as messages:
            async for message in messages:
                view.see(message)
                if left is not None and (left := left - 1) == 0:
                    return
        view.check_finished(match_id)

    def _leaves_early(self) -> bool:
        return self._chance.random() < LEAVES_EARLY

    async def _watch_lobby(self) -> None:
        try:
            async with asyncio.timeout(self._chance.uniform(*LOBBY_S)):
                stream = watch_lobby(self._urls, format=self._format)
                async with aclosing(stream) as messages:
                    async for _ in messages:
                        pass
        except TimeoutError:
            return
