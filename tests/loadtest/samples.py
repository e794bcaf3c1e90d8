"""Outcomes and timelines to look at."""

from scripts._loadtest.load import Load
from scripts._loadtest.outcome import Outcome, conclude
from scripts._loadtest.tally import Second, Strain, Tally
from scripts._loadtest.timeline import Timeline

LOAD = Load(
    urls=("ws://a:1", "ws://b:2"),
    bots=8,
    spectators=5,
    ramp_s=1.0,
    duration_s=2.0,
    think_s=0.5,
    slow_share=0.2,
    reconnect_share=0.1,
    run_id="run",
)


def second(number: int, *, moves: int = 10, cpu: float = 0.2, lag_us: int = 1000) -> Second:
    tally = Tally(moves=moves, deliveries=40, bytes=8000, gaps=1)
    tally.error("rate_limited")
    tally.close(1006)
    for latency_ms in (5, 10, 15, 20):
        tally.latency("ack").record(latency_ms * 1000)
        tally.latency("spectator").record(latency_ms * 100)
    return Second(number, 13, tally, Strain(cpu, lag_us))


def timeline(*seconds: Second, processes: int = 1) -> Timeline:
    made = Timeline(LOAD.ramp_s, processes)
    for each in seconds:
        made.add(each)
    return made


def outcome(*seconds: Second) -> Outcome:
    return conclude(LOAD, timeline(*seconds))
