"""What the client makes of connections that break, hubs that die and messages that get lost."""

import asyncio
import os
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from pathlib import Path

import msgpack
import pytest

from hub.app import Hub
from protocol.client import Client, Closed, Refused, watch
from protocol.client.table import TableMessage
from protocol.codec import DecodeError, encode, glance
from protocol.messages import Error, ErrorCode, MatchListed, Placed, Roll
from tests.clients import SECRET, token
from tests.conftest import MakeHub
from tests.protocol.samples import LISTED
from tests.protocol.tables import (
    address,
    is_end,
    is_placed,
    numbers,
    play_out,
    read_until,
    read_until_asked,
    seated,
    waiting,
)
from tests.protocol.wire import Change, Wire, lose, pass_on, repeat, wired
from tests.store.valkey import OwnValkey

# ---- Events --------------------------------------------------------------------------------------


async def test_events_go_on_after_a_break(hub: Hub) -> None:
    async with wired(hub) as wire, seated(hub, wire.url) as ann:
        before = await read_until_asked(ann)
        wire.cut()
        after = await play_out(ann, place_first=True)
    assert numbers([*before, *after]) == list(range(1, len(numbers([*before, *after])) + 1))
    assert wire.connections == 2


async def test_events_go_on_after_one_got_lost(hub: Hub) -> None:
    def lose_a_placement(message: bytes) -> list[bytes]:
        if glance(message)[0] != "placed":
            return [message]
        wire.change = pass_on
        return []

    async with wired(hub) as wire, seated(hub, wire.url) as ann:
        wire.change = lose_a_placement
        read = await play_out(ann)
    assert numbers(read) == list(range(1, len(numbers(read)) + 1))
    assert wire.connections == 2


async def test_events_that_come_twice_are_read_once(hub: Hub) -> None:
    async with wired(hub) as wire, seated(hub, wire.url) as ann:
        wire.change = repeat
        read = await play_out(ann)
    assert numbers(read) == list(range(1, len(numbers(read)) + 1))
    assert wire.connections == 1


async def test_events_of_an_unknown_type_are_passed_over(hub: Hub) -> None:
    """They are no gap that the client would reconnect for."""

    def rename_talk(message: bytes) -> list[bytes]:
        return [message.replace(b"table_talk", b"table_chat")]

    async with wired(hub) as wire, seated(hub, wire.url) as ann:
        wire.change = rename_talk
        read = await read_until_asked(ann)
        await ann.place(ann.table.roll[0], message="Feeling lucky.")
        read += await read_until(ann, is_placed)
    *before, last = numbers(read)
    assert before == list(range(1, last - 1))
    assert wire.connections == 1


async def test_messages_of_an_unknown_type_are_passed_over(hub: Hub) -> None:
    weather = msgpack.packb({"type": "weather", "rain": True})
    async with wired(hub) as wire, seated(hub, wire.url) as ann:
        wire.change = lambda message: [weather, message]
        read = await play_out(ann)
    assert numbers(read) == list(range(1, len(numbers(read)) + 1))


async def test_messages_for_others_are_passed_over(hub: Hub) -> None:
    async with seated(hub) as ann:
        hub.server.tell(MatchListed(match=LISTED))
        read = await play_out(ann)
    assert {type(each) for each in read} <= set(TableMessage.__args__)


async def test_a_match_that_ended_during_a_break_is_read_to_its_end(hub: Hub) -> None:
    async with wired(hub) as wire, seated(hub, wire.url) as ann:
        before = await read_until_asked(ann)
        wire.change = lose
        await play_out_elsewhere(hub)
        wire.change = pass_on
        wire.cut()
        after = await read_until(ann, is_end)
    assert numbers([*before, *after]) == list(range(1, len(numbers([*before, *after])) + 1))


async def test_a_turn_that_is_over_when_it_is_read_asks_for_nothing(hub: Hub) -> None:
    """A bot that thinks for too long goes on with the newest turn."""
    async with seated(hub) as ann:
        (asked,) = (await read_until_asked(ann))[-1:]
        await play_out_elsewhere(hub)
        await ann.sync(asked.match_id)  # answered after all events were sent
        turns = [ann.my_turn async for _ in up_to_end(ann)]
    assert not any(turns)


async def play_out_elsewhere(hub: Hub) -> None:
    """Play to the end over another connection of the same agent."""
    async with Client(address(hub), token("ann")) as ann:
        await play_out(ann)


async def up_to_end(client: Client) -> AsyncIterator[TableMessage]:
    async for message in client:
        yield message
        if is_end(message):
            return


async def test_a_match_that_no_hub_knows_any_more_is_forgotten(make_hub: MakeHub) -> None:
    """A store may have lost it; the agent is free to play again."""
    hub, other = await make_hub(), await make_hub(prefix="other:")
    async with wired(hub) as wire, seated(hub, wire.url, address(other)) as ann:
        await read_until_asked(ann)
        wire.broken = True
        wire.cut()
        assert await ann.join()
        assert ann.welcome.hub == other.id


# ---- Commands ------------------------------------------------------------------------------------


async def test_a_placement_whose_reply_got_lost_counts_once(hub: Hub) -> None:
    async with wired(hub) as wire, seated(hub, wire.url) as ann:
        roll = (await read_until_asked(ann))[-1]
        assert isinstance(roll, Roll)
        wire.change = lose
        placing = asyncio.create_task(ann.place(roll.dice[0]))
        placed = await answer_to(roll, hub)
        wire.change = pass_on
        wire.cut()
        ack = await placing
        assert (ack.replayed, ack.seq) == (True, placed.seq)
        assert (await read_until(ann, is_placed))[-1] == placed


async def test_a_placement_made_during_a_break_is_sent_after_it(hub: Hub) -> None:
    async with wired(hub) as wire, seated(hub, wire.url) as ann:
        await read_until_asked(ann)
        wire.cut()
        ack = await ann.place(ann.table.roll[0])
    assert not ack.replayed


async def test_a_join_whose_reply_got_lost_counts(hub: Hub) -> None:
    async with wired(hub) as wire, Client(wire.url, token("ann")) as ann:
        wire.change = lose
        joining = asyncio.create_task(ann.join())
        await waiting(hub, 1)
        wire.change = pass_on
        wire.cut()
        assert await joining is None


async def test_a_place_in_the_queue_that_got_lost_is_taken_again(hub: Hub) -> None:
    async with wired(hub) as wire, Client(wire.url, token("ann")) as ann:
        await ann.join()
        await hub.lobby.leave("ann")
        wire.cut()
        await waiting(hub, 1)


async def test_a_place_in_the_queue_that_can_not_be_paid_again_is_refused(hub: Hub) -> None:
    async with wired(hub) as wire, Client(wire.url, token("ann")) as ann:
        await ann.join()
        await hub.lobby.leave("ann")
        await hub.lobby.grant("ann", -1000)
        wire.cut()
        with pytest.raises(Refused) as caught:
            await anext(ann)
        assert caught.value.code == ErrorCode.INSUFFICIENT_HP
        assert await ann.join(fee_min=0, fee_max=0)


async def test_a_place_in_the_queue_that_is_still_held_is_kept(hub: Hub) -> None:
    """The agent got its place back between the hub's welcome and the client's join."""
    async with wired(hub) as wire, Client(wire.url, token("ann")) as ann:
        await ann.join()
        refusals = Seen(wire, b"already_queued", unqueue)
        wire.cut()
        await refusals.first.wait()
        await ann.leave()
        assert await hub.lobby.count_waiting() == 0


async def answer_to(roll: Roll, hub: Hub) -> Placed:
    """Wait until dice are placed in a turn."""
    async with aclosing(watch(address(hub), roll.match_id, after=roll.seq)) as messages:
        async for message in messages:
            if isinstance(message, Placed):
                return message
    raise AssertionError


async def test_a_join_that_is_turned_down_later_is_told(make_hub: MakeHub) -> None:
    """The fee is more than three of the four can pay once more."""
    hub = await make_hub()
    async with AsyncExitStack() as exits:
        clients = [
            await exits.enter_async_context(Client(address(hub), token(agent_id)))
            for agent_id in ("ann", "bob", "cyd", "dee")
        ]
        for each in clients:
            await each.join(fee_min=600, fee_max=600, continuous=True)
        await asyncio.gather(*map(play_out, clients))
        waits = [asyncio.create_task(anext(each)) for each in clients]
        told, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
        with pytest.raises(Refused, match="insufficient_hp"):
            await told.pop()


async def test_a_command_is_sent_again_when_it_was_too_many(make_hub: MakeHub) -> None:
    hub = await make_hub(messages_per_second=100, message_burst=1)
    async with wired(hub) as wire, Client(wire.url, token("ann")) as ann:
        refusals = Seen(wire, b"rate_limited")
        await asyncio.gather(ann.leave(), ann.leave(), ann.leave())
    assert refusals.count > 0


async def test_a_command_is_sent_again_when_the_store_did_not_answer(
    make_hub: MakeHub, own_valkey: OwnValkey
) -> None:
    hub = await make_hub(url=own_valkey.url)
    async with wired(hub) as wire, seated(hub, wire.url) as ann:
        await read_until_asked(ann)
        own_valkey.pause()
        refusals = Seen(wire, b"unavailable")
        placing = asyncio.create_task(ann.place(ann.table.roll[0]))
        await refusals.first.wait()
        own_valkey.resume()
        ack = await placing
        assert await read_until(ann, is_placed)
    assert ack.turn == ann.table.turn


async def test_notices_and_replies_that_nobody_waits_for_change_nothing(hub: Hub) -> None:
    notice = encode(Error(code="unavailable", message="wait", retry_ms=1), "msgpack")
    async with wired(hub) as wire, seated(hub, wire.url) as ann:
        wire.change = Echo(notice)
        await read_until_asked(ann)
        assert (await ann.place(ann.table.roll[0])).turn == ann.table.turn
        await ann.sync()  # with its reply the second ack has come, too


class Echo:
    """Sends a notice and the last message once more before each message."""

    def __init__(self, notice: bytes) -> None:
        self._before = [notice]

    def __call__(self, message: bytes) -> list[bytes]:
        messages = [*self._before, message]
        self._before[1:] = [message]
        return messages


class Seen:
    """Counts the messages on a wire that hold some bytes."""

    def __init__(self, wire: Wire, sought: bytes, change: Change = pass_on) -> None:
        self.count = 0
        self.first = asyncio.Event()
        self._sought = sought
        self._change = change
        wire.change = self

    def __call__(self, message: bytes) -> list[bytes]:
        if self._sought in message:
            self.count += 1
            self.first.set()
        return self._change(message)


def unqueue(message: bytes) -> list[bytes]:
    """Make a welcome say that the agent is not in the queue."""
    return [message.replace(b"\xa6queued\xc3", b"\xa6queued\xc2")]


@pytest.fixture
def own_valkey(tmp_path: Path) -> Iterator[OwnValkey]:
    valkey = OwnValkey(tmp_path / "own")
    valkey.start()
    yield valkey
    valkey.stop()


# ---- Hubs ----------------------------------------------------------------------------------------


async def test_a_hub_that_says_bye_is_left_for_another(make_hub: MakeHub) -> None:
    first, second = await make_hub(), await make_hub()
    async with seated(second, address(first), address(second)) as ann:
        before = await read_until_asked(ann)
        await first.stop()
        after = await play_out(ann, place_first=True)
        assert ann.welcome.hub == second.id
    assert numbers([*before, *after]) == list(range(1, len(numbers([*before, *after])) + 1))


async def test_a_hub_that_is_killed_is_left_for_another(
    make_hub: MakeHub, redis_url: str, prefix: str
) -> None:
    hub = await make_hub(slots=16)
    async with AsyncExitStack() as exits:
        process, way = await exits.enter_async_context(hub_process(redis_url, prefix))
        ann = await exits.enter_async_context(seated(hub, way, address(hub)))
        before = await read_until_asked(ann)
        process.kill()
        after = await play_out(ann, place_first=True)
        assert ann.welcome.hub == hub.id
    assert numbers([*before, *after]) == list(range(1, len(numbers([*before, *after])) + 1))


@asynccontextmanager
async def hub_process(redis_url: str, prefix: str) -> AsyncIterator[tuple[Process, str]]:
    """Run a hub in a process of its own, on the store of others; the process, and its URL."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "hub", "serve", "--port", "0"),
        *("--redis", redis_url, "--prefix", prefix),
        env={**os.environ, "VEGAS_SECRET": SECRET.decode()},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    line = (await process.stdout.readline()).decode()
    try:
        yield process, line.split()[-1].replace("http://", "ws://")
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


# ---- Ends ----------------------------------------------------------------------------------------


async def test_an_expired_token_is_the_end(hub: Hub) -> None:
    async with Client(address(hub), token("ann", hours=2 / 3600)) as ann:
        with pytest.raises(Closed, match="closed with 1008: your token has expired"):
            await anext(ann)


async def test_a_message_over_the_limit_is_the_end(hub: Hub) -> None:
    async with Client(address(hub), token("ann")) as ann:
        with pytest.raises(Closed) as caught:
            await ann.sync("m" * 5000)
        assert caught.value.code == 1009


async def test_what_is_no_message_is_the_end(hub: Hub) -> None:
    async with wired(hub) as wire, Client(wire.url, token("ann")) as ann:
        wire.change = lambda _: [b"\xc1"]
        with pytest.raises(DecodeError):
            await ann.leave()
        with pytest.raises(DecodeError):
            await anext(ann)
