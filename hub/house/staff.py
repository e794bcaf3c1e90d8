"""Employ house bots beside a hub: a few of each kind, at work for as long as it runs."""

import asyncio
import itertools
import random
from collections.abc import Callable

import structlog

from protocol.client import ClientError

from .bots import play
from .policies import PolicyName, make_policy

# Who they are, in the order of their employment; the first four make a table of all kinds.
_POLICIES: tuple[PolicyName, ...] = ("tie-aware", "greedy", "random", "tie-aware")
_NAMES = ("Opal", "Rook", "Dizzy", "Vesper", "Onyx", "Brass", "Tumble", "Sable")

PAUSE_SECONDS = (0.3, 1.5)  # how long they look at their dice: as people do who know the game
RETURN_SECONDS = 5.0  # before one that met an error comes back

MakeToken = Callable[[str, str], str]  # from an agent's id and name

_log = structlog.get_logger()


async def employ(url: str, count: int, make_token: MakeToken) -> None:
    """Let `count` house bots play at the hub at `url` until cancelled."""
    kinds = itertools.islice(itertools.cycle(zip(_NAMES, _POLICIES * 2, strict=True)), count)
    async with asyncio.TaskGroup() as tasks:
        for number, (name, policy) in enumerate(kinds, 1):
            suffix = "" if number <= len(_NAMES) else f" {(number - 1) // len(_NAMES) + 1}"
            token = make_token(f"house-{number}", f"{name}{suffix}")
            tasks.create_task(_work(url, token, policy))


async def _work(url: str, token: str, name: PolicyName) -> None:
    chance = random.Random()
    policy = make_policy(name, chance)
    while True:
        try:
            await play(
                url, token, policy, chance=chance, pause=lambda: chance.uniform(*PAUSE_SECONDS)
            )
        except ClientError as error:
            _log.warning("house_bot_stumbled", policy=name, reason=str(error))
            await asyncio.sleep(RETURN_SECONDS)
