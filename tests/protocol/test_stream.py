"""Spectators of the library against real hubs."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeVar

import pytest

from hub.app import Hub
from protocol.client import MatchNotFound, watch, watch_lobby
from protocol.messages import Crowd, Error, ErrorCode, Lobby, MatchClosed, MatchListed, Snapshot
from tests.clients import Format
from tests.protocol.tables import (
    address,
    numbers,
    play_out,
    read_until_asked,
    seated,
)
from tests.protocol.wire import wired

_T = TypeVar("_T")


async def taken(messages: AsyncGenerator[_T, None], count: int) -> list[_T]:
    """Take so many messages from a stream, and close it."""
    async with aclosing(messages):
        return [await anext(messages) for _ in range(count)]


async def test_a_match_is_watched_from_a_snapshot_to_its_end(hub: Hub) -> None:
    async with seated(hub) as ann:
        read = await read_until_asked(ann)
        watching = watch(address(hub), read[-1].match_id)
        snapshot = await anext(watching)
        read = await play_out(ann, place_first=True)
        seen = [message async for message in watching]
    assert isinstance(snapshot, Snapshot)
    assert numbers(seen) == list(range(snapshot.seq + 1, numbers(read)[-1] + 1))


async def test_a_finished_match_is_watched_from_any_event(hub: Hub, format: Format) -> None:
    async with seated(hub) as ann:
        read = await play_out(ann)
    match_id, end = read[-1].match_id, numbers(read)[-1]
    for after in (0, 5, end - 1):
        seen = [each async for each in watch(address(hub), match_id, after=after, format=format)]
        assert numbers(seen) == list(range(after + 1, end + 1))


async def test_a_finished_match_is_watched_by_its_snapshot(hub: Hub) -> None:
    async with seated(hub) as ann:
        read = await play_out(ann)
    (snapshot,) = [each async for each in watch(address(hub), read[-1].match_id)]
    assert isinstance(snapshot, Snapshot)
    assert (snapshot.seq, snapshot.state.status) == (numbers(read)[-1], "finished")


async def test_a_watched_match_goes_on_after_a_break(hub: Hub) -> None:
    async with wired(hub) as wire, seated(hub) as ann:
        read = await read_until_asked(ann)
        watching = watch(wire.url, read[-1].match_id, after=0)
        seen = [await anext(watching) for _ in read]
        wire.cut()
        read += await play_out(ann, place_first=True)
        seen += [message async for message in watching]
    assert numbers(seen) == numbers(read)
    assert wire.connections == 2


async def test_spectators_are_told_how_many_they_are(hub: Hub) -> None:
    async with seated(hub) as ann:
        match_id = (await read_until_asked(ann))[-1].match_id
        snapshot, crowd = await taken(watch(address(hub), match_id), 2)
    assert isinstance(snapshot, Snapshot)
    assert crowd == Crowd(match_id=match_id, spectators=1)


async def test_watching_an_unknown_match_fails(hub: Hub) -> None:
    with pytest.raises(MatchNotFound) as caught:
        await anext(watch(address(hub), "no such/match", after=3))
    assert str(caught.value) == "HTTP 404: there is no match 'no such/match'"


async def test_the_lobby_shows_matches_as_they_start_and_finish(hub: Hub) -> None:
    watching = watch_lobby(address(hub))
    first = await anext(watching)
    async with seated(hub) as ann:
        await play_out(ann)
    rest = await taken(watching, 2)
    assert first == Lobby(live=(), waiting=0)
    assert [type(each) for each in rest] == [MatchListed, MatchClosed]


async def test_the_lobby_is_shown_anew_after_a_break(hub: Hub) -> None:
    async with wired(hub) as wire:
        watching = watch_lobby(wire.url)
        await anext(watching)
        wire.cut()
        again = await taken(watching, 1)
    assert again == [Lobby(live=(), waiting=0)]


async def test_what_a_hub_tells_everyone_is_no_part_of_a_stream(hub: Hub) -> None:
    lobby = watch_lobby(address(hub))
    await anext(lobby)
    async with seated(hub) as ann:
        read = await read_until_asked(ann)
        watching = watch(address(hub), read[-1].match_id, after=0)
        seen = [await anext(watching) for _ in read]
        hub.server.tell(Error(code=ErrorCode.UNAVAILABLE, message="it may take a while"))
        read += await play_out(ann, place_first=True)
    seen += [message async for message in watching]
    listed = await taken(lobby, 2)
    assert numbers(seen) == numbers(read)
    assert [type(each) for each in listed] == [MatchListed, MatchClosed]
