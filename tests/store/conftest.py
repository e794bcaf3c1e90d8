"""Hubs' parts on the session's Valkey, and a Valkey of a test's own."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hub.store.keys import Keys
from tests.store.parts import Parts
from tests.store.valkey import OwnValkey

MakeParts = Callable[..., Parts]


@pytest.fixture
async def make_parts(redis_url: str, keys: Keys) -> AsyncIterator[MakeParts]:
    """Make the parts of several hubs that share one store."""
    made: list[Parts] = []

    def make(*, url: str = redis_url, **options: Any) -> Parts:
        made.append(Parts(url, keys, **options))
        return made[-1]

    yield make
    for parts in made:
        await parts.close()


@pytest.fixture
def parts(make_parts: MakeParts) -> Parts:
    return make_parts()


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[OwnValkey]:
    server = OwnValkey(tmp_path)
    server.start()
    yield server
    server.stop()
