"""Real parts for all tests: one Valkey a session, hubs in this process on their own prefixes."""

import itertools
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from hub.app import Hub
from hub.log import is_clients_fault
from hub.settings import Settings
from hub.store.embedded import EmbeddedValkey
from hub.store.keys import Keys
from hub.store.link import Link
from tests.clients import SECRET, Format

MakeHub = Callable[..., Awaitable[Hub]]

_prefixes = itertools.count()


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with EmbeddedValkey(tmp_path_factory.mktemp("valkey"), fsync=False) as url:
        yield url


@pytest.fixture
def prefix() -> str:
    return f"test{next(_prefixes)}-{secrets.token_hex(3)}:"


@pytest.fixture
def keys(prefix: str) -> Keys:
    return Keys(prefix, slots=4)


@pytest.fixture
async def link(redis_url: str) -> AsyncIterator[Link]:
    link = Link(redis_url)
    yield link
    await link.close()


@pytest.fixture(params=["msgpack", "json"])
def format(request: pytest.FixtureRequest) -> Format:
    chosen: Format = request.param
    return chosen


@pytest.fixture
async def make_hub(
    redis_url: str, prefix: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> AsyncIterator[MakeHub]:
    """Start hubs that share one store; each is stopped at the end of the test.

    Whatever clients do to them, hubs log no error.
    """
    hubs: list[Hub] = []

    async def make(*, url: str = redis_url, **options: Any) -> Hub:
        settings = Settings(
            **{
                "port": 0,
                "prefix": prefix,
                "slots": 4,
                "data_dir": tmp_path,
                "drain_seconds": 1.0,
                "messages_per_second": 10_000,
                "message_burst": 10_000,
                **options,
            }
        )
        hub = Hub(settings, url, SECRET)
        await hub.start()
        hubs.append(hub)
        return hub

    with capture_logs() as logs:
        yield make
        for hub in hubs:
            await hub.stop()
    assert [entry for entry in logs if entry["log_level"] == "error"] == []
    records = [*caplog.get_records("call"), *caplog.get_records("teardown")]
    assert [record.getMessage() for record in records if is_error(record)] == []


@pytest.fixture
async def hub(make_hub: MakeHub) -> Hub:
    return await make_hub()


def is_error(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.ERROR and not is_clients_fault(record)
