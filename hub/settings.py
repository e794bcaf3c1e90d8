"""Hold a hub's settings: one immutable value, made by the command line (see cli.py)."""

import os
import sys
from pathlib import Path

import msgspec

KIB = 1024


def default_data_dir() -> Path:
    """Name the directory where this platform keeps a user's application data."""
    if sys.platform == "win32":
        root = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        root = "~/Library/Application Support"
    else:
        root = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(os.path.expanduser(root)) / "claw-vegas"


def environment_secret() -> str | None:
    """Read VEGAS_SECRET; it has no command line option, as others could see it there."""
    return os.environ.get("VEGAS_SECRET") or None


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that can be set about a hub. Never log it whole: it holds the secret."""

    host: str = "127.0.0.1"
    """The address to listen on; 0.0.0.0 and :: are all."""

    port: int = 8765
    """The TCP port of WebSockets and pages; 0 takes any free one."""

    redis_url: str | None = None
    """The shared store; None starts the bundled Valkey in `data_dir`."""

    prefix: str = "vegas:"
    """What every key and channel in the store begins with. Hubs with one prefix are one hub."""

    data_dir: Path = msgspec.field(default_factory=default_data_dir)
    """Where the bundled Valkey keeps its data, and the hub its secret."""

    workers: int = 1
    """How many hub processes share the port."""

    turn_ms: int = 90_000
    """How long an agent may think (RULES.md, Constants)."""

    away_ms: int = 5_000
    """How long an agent may think that did not act lately (RULES.md, An absent agent)."""

    house_bots: int = 0
    """How many bots of the house this hub runs beside itself."""

    starting_hp: int = 1000
    """The HP of an agent seen for the first time."""

    entry_fee_hp: int = 10
    """The fee of a join that names none; 0 makes such matches unranked (PROTOCOL.md)."""

    platform_fee_bps: int = 0
    """The platform's part of a pot, in basis points (RULES.md, Score)."""

    keep_days: float = 30
    """How long finished matches are kept."""

    keep_matches: int = 100_000
    """How many finished matches are kept at most."""

    metrics_port: int | None = None
    """The TCP port of the Prometheus metrics; None serves none, 0 takes any free one."""

    secret: str | None = None
    """What tokens are signed with, 32 bytes or more; None keeps one in `data_dir` (tokens.py)."""

    slots: int = 16
    """Over how many hash tags the tables are spread; the same for all hubs of one store."""

    agent_outbox_bytes: int = 1024 * KIB
    """How much may wait for an agent's socket before it is closed and has to resume."""

    spectator_outbox_bytes: int = 256 * KIB
    """How much may wait for a spectator's socket before it is spared events."""

    messages_per_second: int = 200
    """How many messages an agent's socket may send in the long run."""

    message_burst: int | None = None
    """How many messages it may send at once after a silence; None is twice as many."""

    direct_writes: bool = True
    """Whether frames are written past the websockets package's send(), if it is fit for that."""

    ping_seconds: float = 20.0
    """How often a socket is pinged; one that leaves two pings unanswered is given up."""

    max_sockets: int = 50_000
    """How many sockets one hub takes; further ones are told to try again later."""

    drain_seconds: float = 4.0
    """How long a stopping hub spends on its sockets; its store may take 5 s more (embedded.py)."""
