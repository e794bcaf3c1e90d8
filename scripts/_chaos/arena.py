"""Put a run's parts together: a store, hubs, and the clients that play and watch on them."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial

from hub.settings import Settings, environment_secret
from hub.store.history import History
from hub.store.keys import Keys
from hub.store.link import Link
from hub.store.lobby import Lobby
from hub.store.tables import Tables
from hub.tokens import issue, load_secret
from protocol.codec import Format

from .bots import Bot, Live
from .faults import Faults
from .hubs import Place
from .plan import Plan
from .spectators import Spectator
from .store import Store
from .witness import Witness

STARTING_HP = 100_000  # nobody is to run out of it
TOKEN_HOURS = 1_000
SETTLE_S = 180.0  # for the matches under way to end
POLL_S = 0.2


class Arena:
    """A running store and its hubs, with everybody on them."""

    def __init__(self, plan: Plan, store: Store, link: Link) -> None:
        settings = Settings(starting_hp=STARTING_HP)
        keys = Keys(settings.prefix, settings.slots)
        self.plan = plan
        self.store = store
        self.lobby = Lobby(link, keys, STARTING_HP)
        self.tables = Tables(link, keys)
        self.history = History(link, keys)
        self.live = Live()
        self.chance = random.Random(plan.seed)
        self._secret = load_secret(
            Settings(data_dir=plan.folder / "hubs", secret=environment_secret())
        )
        self.tokens = {self._token(name): name for name in _names("bot", plan.bots)}
        self.witness = Witness(self.tokens)
        self.places = [
            Place(number, store.socket, partial(self.witness.watch, hub=number))
            for number in range(plan.hubs)
        ]
        self.faults = Faults(store, self.places, self.witness, random.Random(self.chance.random()))
        self.bots: list[Bot] = []
        self.spectators: list[Spectator] = []
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def hub_options(self) -> tuple[str, ...]:
        """The options that all hubs are started with."""
        plan = self.plan
        return (
            *("--port", "0", "--data-dir", str(plan.folder / "hubs"), "--log-format", "json"),
            *("--turn-seconds", str(plan.turn_seconds), "--away-seconds", str(plan.away_seconds)),
            *("--starting-hp", str(STARTING_HP), "--workers", str(plan.workers)),
        )

    def open_to_all(self) -> None:
        """Let all bots play and all spectators watch."""
        silent = round(self.plan.silent * self.plan.bots)
        for number, (token, name) in enumerate(self.tokens.items()):
            self.bots.append(self._bot(number, name, token, silent=number < silent))
        for number, name in enumerate(_names("spectator", self.plan.spectators)):
            self.spectators.append(self._spectator(number, name))
        self._tasks += [asyncio.create_task(bot.run()) for bot in self.bots]
        self._tasks += [asyncio.create_task(each.run()) for each in self.spectators]

    async def settle(self) -> bool:
        """Let the matches under way end and nobody start another; whether that came to be."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_S):
                await asyncio.gather(*(bot.leave() for bot in self.bots))
                # A store can only be asked.
                while await self.lobby.live() or await self.lobby.forming():  # noqa: ASYNC110
                    await asyncio.sleep(POLL_S)
                return True
        return False

    async def close(self) -> None:
        """Let everybody go."""
        for task in self._tasks:
            task.cancel()
        for ended in await asyncio.gather(*self._tasks, return_exceptions=True):
            if isinstance(ended, Exception):
                self.witness.troubles.report("client broke", "", detail=repr(ended))
        self._tasks = []

    def _token(self, name: str) -> str:
        return issue(self._secret, name, name, TOKEN_HOURS)

    def _urls(self, number: int) -> list[str]:
        """List all hubs, from another one on for each client."""
        first = number % len(self.places)
        return [place.url for place in (*self.places[first:], *self.places[:first])]

    def _bot(self, number: int, name: str, token: str, *, silent: bool) -> Bot:
        return Bot(
            name,
            token,
            self._urls(number),
            plan=self.plan,
            format=self._format(),
            silent=silent,
            chance=random.Random(self.chance.random()),
            live=self.live,
            troubles=self.witness.troubles,
        )

    def _spectator(self, number: int, name: str) -> Spectator:
        return Spectator(
            name,
            self._urls(number),
            format=self._format(),
            chance=random.Random(self.chance.random()),
            live=self.live,
            troubles=self.witness.troubles,
        )

    def _format(self) -> Format:
        return "json" if self.chance.random() < self.plan.json else "msgpack"


@asynccontextmanager
async def open_arena(plan: Plan) -> AsyncIterator[Arena]:
    """Start a store and hubs in a plan's folder, and stop them in the end."""
    (plan.folder / "hubs").mkdir(parents=True, exist_ok=True)
    async with AsyncExitStack() as exits:
        store = await exits.enter_async_context(Store(plan.folder / "store"))
        link = Link(store.url)
        exits.push_async_callback(link.close)
        arena = Arena(plan, store, link)
        exits.push_async_callback(arena.close)
        log = plan.folder / "hubs"
        for place in arena.places:
            opening = place.open(arena.hub_options, log / f"hub-{place.number}.log")
            await exits.enter_async_context(opening)
        yield arena


def _names(kind: str, count: int) -> list[str]:
    return [f"{kind}-{number:03}" for number in range(count)]
