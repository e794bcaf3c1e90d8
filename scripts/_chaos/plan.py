"""Say what a run is: its size, its length, its players and what is done to them."""

import time
from pathlib import Path
from typing import Literal, get_args

import msgspec

Kind = Literal[
    "hub killed",
    "hub stopped",
    "store killed",
    "store stopped",
    "link cut",
    "link black-holed",
    "sockets dropped",
    "sockets half-open",
    "rolling restart",
]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is made of; it ends at the first of `minutes`, `faults` and `matches`."""

    folder: Path
    hubs: int = 3
    workers: int = 1
    """How many processes each hub runs."""

    bots: int = 40
    spectators: int = 40
    minutes: float | None = None
    faults: int | None = None
    matches: int | None = None
    kinds: tuple[Kind, ...] = KINDS
    pause_seconds: float = 3.0
    """The mean time from the start of one fault to that of the next."""

    seed: int = 0
    turn_seconds: float = 30.0
    away_seconds: float = 2.0
    think_ms: float = 100.0
    """How long a bot thinks on average; 0 is not at all."""

    silent: float = 0.05
    """The part of the bots that never place."""

    json: float = 0.25
    """The part of the sockets that speak JSON."""


class Fault(msgspec.Struct, kw_only=True):
    """Something done to a run, and when; times are in ms since the epoch."""

    kind: Kind
    target: str
    started: int
    ended: int | None = None
    detail: str = ""


def now_ms() -> int:
    """Return the time, by the clock that the store of the same machine goes by."""
    return time.time_ns() // 1_000_000
