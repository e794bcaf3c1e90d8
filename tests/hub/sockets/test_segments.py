"""Count the TCP segments that a hub sends: what is said in one turn of its loop leaves as one."""

import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.frames import Frame, Opcode

from hub.settings import Settings
from tests.chaos.own_process import own_process
from tests.clients import Socket, dial, play, seat_four

TCP_INFO_BYTES = 160
DATA_SEGMENTS_IN = 152  # where the kernel's tcp_info has tcpi_data_segs_in
MOVES = 12
WRONG = 5


def segments(client: Socket) -> int:
    """Count the segments with data that have come to a client."""
    end: socket.socket = client.connection.transport.get_extra_info("socket")
    info = end.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_BYTES)
    (count,) = struct.unpack_from("I", info, DATA_SEGMENTS_IN)
    return int(count)


@pytest.fixture
def hub(redis_url: str, prefix: str, tmp_path: Path) -> Iterator[Any]:
    """Run a hub as it is run: on uvloop."""
    with own_process(Settings(port=0, prefix=prefix, data_dir=tmp_path), redis_url) as hub:
        yield hub


async def test_a_move_is_one_segment_for_each_who_did_not_make_it(hub: Any) -> None:
    async with seat_four(hub) as party, dial(hub, f"/watch/{party.match_id}") as spectator:
        for each in (*party.sockets, spectator):
            await each.until("crowd")  # the last that comes without a move
        for _ in range(MOVES):
            watchers = [*party.others, spectator]
            before = [segments(each) for each in watchers]
            ack = await party.turn(message="one for all")
            await spectator.after(ack["seq"], "roll", "match_finished")
            assert [segments(each) for each in watchers] == [count + 1 for count in before]


async def test_replies_of_one_turn_are_one_segment(hub: Any) -> None:
    async with play(hub, "ann") as ann:
        before = segments(ann)
        wrong = Frame(Opcode.BINARY, b"wrong").serialize(mask=True)
        ann.connection.transport.write(wrong * WRONG)
        for _ in range(WRONG):
            assert (await ann.until("error"))["code"] == "bad_message"
        assert segments(ann) == before + 1
