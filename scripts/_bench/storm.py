"""Measure a reconnect storm: a hub dies, and all of its clients come to another one at once."""

from contextlib import ExitStack

from .bench import Bench
from .crowd import Crowd
from .dealer import SEATS, Play
from .figures import Report, Series, p99
from .hub import HubProcess
from .players import agent_headers, agent_path

TABLES = 100
CLIENTS = 5000
SPECTATORS = CLIENTS - TABLES * SEATS
TIMEOUT_SECONDS = 10.0  # of most clients, for the opening handshake

AGENTS_P50, AGENTS_MAX = "agents, median", "agents, last"
SPECTATORS_P50, SPECTATORS_MAX = "spectators, median", "spectators, last"


async def storm(bench: Bench) -> Report:
    """Let everyone come to a hub that has seen none of them, all in the same moment."""
    took = Series("s to the first message")
    cpu = Series("s of the hub's CPU")
    for _ in range(bench.repeats):
        await bench.clear()
        plays = [await bench.dealer.open() for _ in range(TABLES)]
        with ExitStack() as exits:
            agents, spectators = (exits.enter_context(bench.crowd()) for _ in range(2))
            hub = exits.enter_context(bench.hub())
            _come(hub, agents, spectators, plays)
            before = hub.cpu_seconds()
            for crowd in (agents, spectators):
                crowd.opened()
                crowd.settle()
            cpu.add("all", hub.cpu_seconds() - before)
            _note(took, agents.first_bytes(), AGENTS_P50, "agents, p99", AGENTS_MAX)
            _note(took, spectators.first_bytes(), SPECTATORS_P50, "spectators, p99", SPECTATORS_MAX)
    return Report(
        f"Storm: {CLIENTS} clients come at once, {TABLES * SEATS} of them agents in matches",
        (*took.figures(), *cpu.figures()),
        (
            took.ratio(AGENTS_P50, SPECTATORS_P50, 1.0),
            took.against(SPECTATORS_MAX, TIMEOUT_SECONDS),
        ),
        ("From the connection's start to the first message, which for agents is the welcome.",),
    )


def _come(hub: HubProcess, agents: Crowd, spectators: Crowd, plays: list[Play]) -> None:
    for play in plays:
        for agent_id in play.agents:
            agents.add(1, agent_path(play.match_id), headers=agent_headers(agent_id))
        spectators.add(SPECTATORS // len(plays), f"/watch/{play.match_id}?after=1")
    agents.start_opening(hub.port, CLIENTS)
    spectators.start_opening(hub.port, CLIENTS)


def _note(took: Series, seconds: list[float], median: str, tail: str, last: str) -> None:
    if 0 in seconds:
        raise TimeoutError(f"{seconds.count(0)} clients got nothing")
    took.add(median, sorted(seconds)[len(seconds) // 2])
    took.add(tail, p99(seconds))
    took.add(last, max(seconds))
