from hypothesis import given, settings
from hypothesis import strategies as st

from hub.rules.match import Match
from hub.sockets.fanout import Pacer
from hub.tables.replica import Table
from hub.tables.subscriptions import TableFeed
from tests.store.parts import (
    Ear,
    Parts,
    Viewer,
    copy_of,
    create,
    place,
    unhurried,
)

COMMITS = 12


class Recording:
    """A match's first state, what its channel carried for each commit, and its state at the end."""

    def __init__(self, start: Match, messages: list[bytes], end: Match) -> None:
        self.start = start
        self.messages = messages
        self.end = end


async def record(parts: Parts, commits: int = COMMITS) -> Recording:
    """Commit some placements and keep what is published."""
    start = await create(parts.tables)
    ear = Ear(parts.keys.feed(start.match_id))
    await parts.listen()
    await parts.feed.subscribe(ear.subscription)
    match = start
    for _ in range(commits):
        match = await place(parts.tables, match)
    return Recording(start, list(await ear.hear(commits)), match)


def joined(parts: Parts, match: Match) -> tuple[TableFeed, Viewer]:
    """Follow a table through a channel that carries what a test says."""
    table = Table(copy_of(match), [True] * 4, Pacer(parts.metrics))
    viewer = Viewer()
    table.seat(viewer)
    return TableFeed(table, parts.tables, parts.lobby), viewer


def expected_seqs(recording: Recording) -> list[int]:
    return list(range(recording.start.seq + 1, recording.end.seq + 1))


losses = st.lists(st.integers(0, COMMITS - 1), max_size=2 * COMMITS)


@given(heard=losses, pauses=st.lists(st.booleans(), min_size=2 * COMMITS, max_size=2 * COMMITS))
@settings(unhurried, max_examples=60)
async def test_whatever_is_lost_repeated_or_out_of_order_each_event_comes_once_and_in_order(
    parts: Parts, heard: list[int], pauses: list[bool]
) -> None:
    """Any commits in any order, with or without time for a repair; then the feed resumes."""
    recording = await record(parts)
    channel, viewer = joined(parts, recording.start)
    for commit, pause in zip(heard, pauses, strict=False):
        channel.on_message(recording.messages[commit])
        if pause:
            await channel.repaired()
    channel.repair()
    while viewer.seqs[-1:] != [recording.end.seq]:
        await viewer.grown()
    assert viewer.seqs == expected_seqs(recording)
    assert channel.table.match == recording.end


async def test_a_gap_is_filled_as_soon_as_it_shows(parts: Parts) -> None:
    recording = await record(parts)
    channel, viewer = joined(parts, recording.start)
    channel.on_message(recording.messages[-1])
    await channel.repaired()
    assert viewer.seqs == expected_seqs(recording)


async def test_what_comes_during_a_repair_waits_for_it(parts: Parts) -> None:
    recording = await record(parts, 4)
    channel, viewer = joined(parts, recording.start)
    for message in recording.messages[2:]:
        channel.on_message(message)
    assert viewer.seqs == []
    await channel.repaired()
    assert viewer.seqs == expected_seqs(recording)


async def test_a_commit_without_a_gap_costs_no_round_trip(parts: Parts) -> None:
    recording = await record(parts, 4)
    channel, viewer = joined(parts, recording.start)
    before = parts.link.round_trips
    for message in recording.messages:
        channel.on_message(message)
    assert viewer.seqs == expected_seqs(recording)
    assert parts.link.round_trips == before


async def test_the_copy_that_moves_are_made_on_follows_the_channel(parts: Parts) -> None:
    recording = await record(parts, 4)
    channel, _ = joined(parts, recording.start)
    for message in recording.messages:
        channel.on_message(message)
    assert channel.table.copy == copy_of(recording.end)
