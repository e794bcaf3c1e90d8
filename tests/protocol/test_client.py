"""The client against real hubs, over ways that fail."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from hub.app import Hub
from protocol.client import AuthenticationFailed, Client, Closed, HandshakeFailed, Refused
from protocol.messages import (
    ErrorCode,
    Placed,
    Presence,
    Queued,
    Roll,
    Snapshot,
    TableState,
    TableTalk,
)
from tests.clients import Format, token, url
from tests.conftest import MakeHub
from tests.protocol.tables import (
    address,
    is_placed,
    is_roll,
    numbers,
    opponents,
    play_out,
    read_until,
    read_until_asked,
    seated,
)

# ---- Entering ------------------------------------------------------------------------------------


async def test_entering_tells_who_the_agent_is(hub: Hub, format: Format) -> None:
    async with Client(address(hub), token("ann"), format=format) as ann:
        welcome = ann.welcome
    assert (welcome.hub, welcome.agent_id, welcome.name, welcome.hp) == (
        *(hub.id, "ann", "Ann"),
        1000,
    )


async def test_entering_fails_with_a_token_of_another_hub(hub: Hub) -> None:
    with pytest.raises(AuthenticationFailed) as caught:
        async with Client(address(hub), "a.b.c"):
            pass
    assert str(caught.value) == "HTTP 401: the token is malformed"


async def test_entering_fails_where_no_agent_is_served(hub: Hub) -> None:
    with pytest.raises(HandshakeFailed) as caught:
        async with Client(url(hub, "/nowhere"), token("ann")):
            pass
    assert (type(caught.value), caught.value.status) == (HandshakeFailed, 404)


async def test_entering_fails_where_a_proxy_forbids_it() -> None:
    async def forbid(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(forbid, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        with pytest.raises(HandshakeFailed, match="HTTP 403: Forbidden"):
            async with Client(f"ws://{host}:{port}", "a.b.c"):
                pass


async def test_entering_waits_for_a_hub(make_hub: MakeHub, unused_tcp_port: int) -> None:
    ann = Client(f"ws://127.0.0.1:{unused_tcp_port}", token("ann"))
    entering = asyncio.create_task(ann.__aenter__())
    hub = await make_hub(port=unused_tcp_port)
    await entering
    assert ann.welcome.hub == hub.id
    await ann.__aexit__()


async def test_entering_can_be_given_up(unused_tcp_port: int) -> None:
    ann = Client(f"ws://127.0.0.1:{unused_tcp_port}", token("ann"))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(ann.__aenter__(), 0.05)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_entering_goes_to_the_next_hub(hub: Hub, unused_tcp_port: int) -> None:
    async with Client([f"ws://127.0.0.1:{unused_tcp_port}", address(hub)], token("ann")) as ann:
        assert ann.welcome.hub == hub.id


# ---- The queue -----------------------------------------------------------------------------------


async def test_joining_is_confirmed(hub: Hub) -> None:
    async with Client(address(hub), token("ann")) as ann:
        queued = await ann.join(fee_min=5, fee_max=20)
    assert queued is not None
    assert queued == Queued(id=queued.id, position=1, waiting=1, fee_min=5, fee_max=20)


@pytest.mark.parametrize(
    ("join", "code"),
    [
        ({"fee_min": 5}, ErrorCode.FEE_RANGE),
        ({"fee_min": 1001, "fee_max": 1001}, ErrorCode.INSUFFICIENT_HP),
        ({"client_seed": "a|b"}, ErrorCode.BAD_MESSAGE),
    ],
)
async def test_joining_is_refused(hub: Hub, join: dict[str, Any], code: ErrorCode) -> None:
    async with Client(address(hub), token("ann")) as ann:
        with pytest.raises(Refused) as caught:
            await ann.join(**join)
    assert caught.value.code == code
    assert str(caught.value) == f"{code}: {caught.value.message}"
    assert await hub.lobby.count_waiting() == 0


async def test_joining_twice_is_refused(hub: Hub) -> None:
    async with Client(address(hub), token("ann")) as ann:
        await ann.join()
        with pytest.raises(Refused) as caught:
            await ann.join()
    assert caught.value.code == ErrorCode.ALREADY_QUEUED


async def test_leaving_the_queue(hub: Hub) -> None:
    async with Client(address(hub), token("ann")) as ann:
        await ann.join()
        await ann.leave()
        assert await hub.lobby.count_waiting() == 0


async def test_leaving_the_block_leaves_the_queue(hub: Hub) -> None:
    async with Client(address(hub), token("ann")) as ann:
        await ann.join(continuous=True)
    assert await hub.lobby.count_waiting() == 0


# ---- Playing -------------------------------------------------------------------------------------


async def test_every_event_comes_once_and_in_order(hub: Hub) -> None:
    async with seated(hub) as ann:
        read = await play_out(ann)
    assert numbers(read) == list(range(1, len(numbers(read)) + 1))


async def test_the_table_is_what_a_snapshot_shows(hub: Hub) -> None:
    async with seated(hub) as ann:
        await read_until_asked(ann)
        snapshot = await ann.sync()
        assert snapshot.state == ann.table


async def test_the_table_at_the_end_is_what_a_snapshot_shows(hub: Hub) -> None:
    async with seated(hub) as ann:
        (*_, finished) = await play_out(ann)
        snapshot = await ann.sync(finished.match_id)
        assert sight_unseen(snapshot.state) == sight_unseen(ann.table)


def sight_unseen(table: TableState) -> TableState:
    """Forget who is connected, which is best effort."""
    players = tuple(replace(player, connected=False) for player in table.players)
    return replace(table, players=players)


async def test_presence_is_told(hub: Hub) -> None:
    async with Client(address(hub), token("ann")) as ann, opponents(hub) as others:
        await ann.join()
        await read_until_asked(ann)
        others[0].cancel()
        gone = (await read_until(ann, lambda each: isinstance(each, Presence)))[-1]
        assert isinstance(gone, Presence)
        assert [each.seat for each in ann.table.players if not each.connected] == [gone.seat]


async def test_placing_is_confirmed(hub: Hub) -> None:
    async with seated(hub) as ann:
        asked = (await read_until_asked(ann))[-1]
        ack = await ann.place(ann.table.roll[0], message="Feeling lucky.", nonce="n")
        await read_until(ann, is_placed)
        assert isinstance(asked, Roll)
    assert (ack.turn, ack.seq, ack.replayed) == (asked.turn, asked.seq + 2, False)


async def test_placing_goes_with_talk_and_a_nonce(hub: Hub) -> None:
    async with seated(hub) as ann:
        await read_until_asked(ann)
        await ann.place(ann.table.roll[0], message="Feeling lucky.", nonce="n")
        (talk, placed) = await read_until(ann, is_placed)
    assert isinstance(talk, TableTalk)
    assert isinstance(placed, Placed)
    assert (talk.message, placed.nonce) == ("Feeling lucky.", "n")


async def test_placing_again_under_the_same_id_is_replayed(hub: Hub) -> None:
    async with seated(hub) as ann:
        await read_until_asked(ann)
        turn, face = ann.table.turn, ann.table.roll[0]
        first = await ann.place(face, id="key")
        await read_until(ann, is_roll)
        again = await ann.place(face, id="key", turn=turn)
    assert again == replace(first, replayed=True, latency_ms=again.latency_ms)


async def test_placing_a_face_that_was_not_rolled_is_refused(hub: Hub) -> None:
    async with seated(hub) as ann:
        await read_until_asked(ann)
        with pytest.raises(Refused) as caught:
            await ann.place(7)
        assert caught.value.code == ErrorCode.ILLEGAL_FACE
        assert await ann.place(ann.table.roll[0])


async def test_placing_in_another_turn_is_refused(hub: Hub) -> None:
    async with seated(hub) as ann:
        await read_until_asked(ann)
        with pytest.raises(Refused) as caught:
            await ann.place(ann.table.roll[0], turn=ann.table.turn + 1)
    assert caught.value.code == ErrorCode.STALE_TURN


async def test_placing_at_another_table_is_refused(hub: Hub) -> None:
    async with seated(hub) as ann:
        await read_until_asked(ann)
        with pytest.raises(Refused) as caught:
            await ann.place(ann.table.roll[0], match_id="nowhere")
    assert caught.value.code == ErrorCode.MATCH_NOT_FOUND


async def test_placing_before_any_table_is_refused(hub: Hub) -> None:
    async with Client(address(hub), token("ann")) as ann:
        with pytest.raises(Refused) as caught:
            await ann.place(1)
    assert caught.value.code == ErrorCode.NOT_SEATED


async def test_a_snapshot_may_ask_to_place(hub: Hub) -> None:
    """An agent that comes back in its own turn finds out by the snapshot."""
    async with seated(hub) as ann:
        await read_until_asked(ann)
        async with Client(address(hub), token("ann")) as again:
            snapshot = await anext(again)
            assert isinstance(snapshot, Snapshot)
            assert again.my_turn
            assert await again.place(again.table.roll[0])


async def test_the_client_is_done_when_left(hub: Hub) -> None:
    async with Client(address(hub), token("ann")) as ann:
        pass
    for _ in range(2):
        with pytest.raises(Closed, match="closed with 1000: the client has left"):
            await anext(ann)
    with pytest.raises(Closed):
        await ann.join()


async def test_joining_right_after_a_match_waits_until_its_result_is_booked(hub: Hub) -> None:
    async with seated(hub) as ann:
        await play_out(ann)
        assert await ann.join()
