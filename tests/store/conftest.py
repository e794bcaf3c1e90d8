"""A Valkey of a test's own, for tests that are rude to it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.valkey import OwnValkey


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[OwnValkey]:
    server = OwnValkey(tmp_path)
    server.start()
    yield server
    server.stop()
