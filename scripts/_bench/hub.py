"""Run a real hub in a process of its own, with limits of rate that a bench does not meet."""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

from hub import log, process
from hub.settings import Settings

from .process import Program

SECRET = "a secret for benches, long enough for HS256"
TURN_MS = 3_600_000  # nobody is late
UNLIMITED = 1_000_000
TOKEN_HOURS = 24.0


class HubProcess(Program):
    """A hub on a store, pinned to a core."""

    port: int

    @classmethod
    def start(cls, redis_url: str, prefix: str, data_dir: Path, core: int) -> "HubProcess":
        """Start a hub and wait until it listens."""
        settings = {"redis_url": redis_url, "prefix": prefix, "data_dir": str(data_dir)}
        hub = cls.python("hub", json.dumps(settings), core=core)
        hub.port = int(hub.read().rpartition(":")[2])
        return hub


def _main(given: dict[str, Any]) -> int:
    settings = Settings(
        port=0,
        secret=SECRET,
        turn_ms=TURN_MS,
        metrics_port=0,
        messages_per_second=UNLIMITED,
        message_burst=UNLIMITED,
        **given | {"data_dir": Path(given["data_dir"])},
    )
    configure = partial(log.configure, "json", "error")
    configure()
    return process.main(settings, configure)


if __name__ == "__main__":
    sys.exit(_main(json.loads(sys.argv[1])))
