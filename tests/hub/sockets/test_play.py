"""An agent's way through the lobby and a match, as PROTOCOL.md describes it."""

import asyncio
import time

import pytest

from hub.app import Hub
from tests.clients import (
    Format,
    Socket,
    bearer,
    dial,
    play,
    play_match,
    seat_four,
)
from tests.conftest import MakeHub

# ---- Welcome and queue


async def test_welcome_says_who_and_where(make_hub: MakeHub, format: Format) -> None:
    hub = await make_hub(messages_per_second=7)
    async with dial(hub, "/play", format=format, headers=bearer("ann")) as ann:
        before_ms = int(time.time() * 1000)
        welcome = await ann.receive()
        now = welcome.pop("now")
        assert isinstance(now, int)
        assert abs(now - before_ms) < 60_000
        assert welcome == {
            "type": "welcome",
            "protocol": 1,
            "hub": hub.id,
            "agent_id": "ann",
            "name": "Ann",
            "hp": 1000,
            "match_id": None,
            "queued": False,
            "limits": {"message_bytes": 4096, "messages_per_second": 7, "talk_chars": 140},
        }


async def test_welcome_names_the_match_under_way(hub: Hub) -> None:
    async with seat_four(hub) as party, play(hub, party.sockets[2].agent_id) as again:
        welcome = again.heard[0]
        assert (welcome["match_id"], welcome["queued"], welcome["hp"]) == (
            party.match_id,
            False,
            990,
        )


async def test_welcome_tells_a_queued_agent_so(hub: Hub) -> None:
    async with play(hub, "ann") as ann:
        await ann.ask(type="join")
    async with play(hub, "ann") as again:
        assert (again.heard[0]["match_id"], again.heard[0]["queued"]) == (None, True)


async def test_queued_tells_the_place_and_the_fees(hub: Hub, format: Format) -> None:
    async with play(hub, "ann", format=format) as ann, play(hub, "bob", format=format) as bob:
        first = await ann.ask(type="join", id="a")
        second = await bob.ask(type="join", id="b", fee_min=0, fee_max=7)
    waiting = {"type": "queued", "position": 1, "waiting": 1, "fee_min": 10, "fee_max": 10}
    assert first == {**waiting, "id": "a"}
    assert second == {
        "type": "queued",
        "id": "b",
        "position": 2,
        "waiting": 2,
        "fee_min": 0,
        "fee_max": 7,
    }


async def test_leave_gives_up_the_place(hub: Hub, format: Format) -> None:
    async with play(hub, "ann", format=format) as ann, play(hub, "bob", format=format) as bob:
        await ann.ask(type="join")
        assert await ann.ask(type="leave", id="l") == {"type": "left", "id": "l"}
        assert (await bob.ask(type="join"))["position"] == 1


async def test_leave_when_not_queued_is_left(hub: Hub) -> None:
    async with play(hub, "ann") as ann:
        assert await ann.ask(type="leave", id="l") == {"type": "left", "id": "l"}


async def test_an_agent_that_is_gone_is_not_seated(hub: Hub) -> None:
    async with play(hub, "ann") as ann:
        await ann.ask(type="join")
    async with seat_four(hub, agents=("bob", "cyd", "dee", "eve")) as party:
        assert {socket.agent_id for socket in party.sockets} == {"bob", "cyd", "dee", "eve"}
        async with play(hub, "ann") as again:
            assert again.heard[0]["queued"] is True


async def test_an_agent_can_join_again_as_soon_as_its_match_has_finished(hub: Hub) -> None:
    async with seat_four(hub) as party:
        await party.play_out()
        replies = [await socket.ask(type="join") for socket in party.sockets]
        assert [reply["type"] for reply in replies] == ["queued"] * 4


async def test_a_continuous_join_seats_again_and_leave_ends_that(hub: Hub) -> None:
    async with seat_four(hub, continuous=True) as party:
        first = party.match_id
        await party.play_out()
        starts = [await socket.until("match_started") for socket in party.sockets]
        assert len({start["match_id"] for start in starts} - {first}) == 1
        await asyncio.gather(*(socket.until("roll") for socket in party.sockets))
        assert [(await each.ask(type="leave"))["type"] for each in party.sockets] == ["left"] * 4
        await party.play_out()
        async with dial(hub, "/watch") as lobby:
            opening = await lobby.until("lobby")
            if opening["live"]:
                await lobby.until("match_closed")
        async with dial(hub, "/watch") as lobby:
            opening = await lobby.until("lobby")
            assert (opening["live"], opening["waiting"]) == ([], 0)


# ---- A match


async def test_all_hear_the_same_bytes(make_hub: MakeHub, format: Format) -> None:
    hub, other_hub = await make_hub(), await make_hub()
    async with seat_four(hub, other_hub, format=format) as party:
        await party.turn(message="Ünïcode 🎲", nonce="n1")
        await party.play_out()
        first, *others = [events_raw(socket) for socket in party.sockets]
        assert len(first) > 50
        assert others == [first] * 3


def events_raw(socket: Socket) -> list[bytes | str]:
    return [data for data, message in zip(socket.raw, socket.heard, strict=True) if "ts" in message]


async def test_both_formats_say_the_same(hub: Hub) -> None:
    async with (
        seat_four(hub, format="msgpack") as party,
        dial(hub, f"/watch/{party.match_id}?after=0", format="json") as spectator,
    ):
        log = await party.play_out()
        await spectator.rest()
        assert spectator.events == log


async def test_a_match_is_numbered_from_1_and_complete(hub: Hub) -> None:
    log = await play_match(hub)
    assert [event["seq"] for event in log] == list(range(1, len(log) + 1))
    assert [event["type"] for event in log[:3]] == ["match_started", "round_started", "roll"]
    assert [event["type"] for event in log[-3:]] == ["placed", "round_settled", "match_finished"]
    kinds = [event["type"] for event in log]
    assert [kinds.count(kind) for kind in ("round_started", "round_settled")] == [4, 4]
    assert kinds.count("roll") == kinds.count("placed") == log[-4]["turn"]
    assert all(event["match_id"] == log[0]["match_id"] for event in log)
    assert [event["ts"] for event in log] == sorted(event["ts"] for event in log)


async def test_a_placements_events_come_in_order(hub: Hub) -> None:
    async with seat_four(hub) as party:
        roll = party.roll
        ack = await party.turn(message="Hello", nonce="n")
        talk, placed, rolled = party.sockets[3].events[3:6]
    named = {"match_id": party.match_id, "round": 1, "turn": 1, "seat": roll["seat"]}
    count = roll["dice"].count(roll["dice"][0])
    assert talk == {
        **named,
        "type": "table_talk",
        "seq": 4,
        "ts": placed["ts"],
        "message": "Hello",
    }
    assert placed == {
        **named,
        "type": "placed",
        "seq": 5,
        "ts": placed["ts"],
        "face": roll["dice"][0],
        "count": count,
        "nonce": "n",
        "is_auto": False,
        "dice_remaining": 8 - count,
        "entropy": placed["entropy"],
    }
    assert (rolled["type"], rolled["turn"]) == ("roll", 2)
    assert ack["seq"] == 5
    assert ack["think_ms"] == placed["ts"] - roll["ts"]


async def test_a_roll_says_all_that_an_agent_needs(make_hub: MakeHub) -> None:
    hub = await make_hub(turn_ms=77_000)
    async with seat_four(hub) as party:
        roll = party.roll
    dice = roll["dice"]
    assert roll == {
        "type": "roll",
        "match_id": party.match_id,
        "seq": 3,
        "ts": roll["ts"],
        "round": 1,
        "turn": 1,
        "seat": 0,
        "dice": sorted(dice),
        "deadline": roll["ts"] + 77_000,
        "turn_ms": 77_000,
        "legal_actions": [
            {"action": "place", "params": {"face": face}, "casino": face, "dice": dice.count(face)}
            for face in sorted(set(dice))
        ],
    }
    assert len(dice) == 8


async def test_the_secret_seed_is_told_at_the_end_only(hub: Hub) -> None:
    async with seat_four(hub) as party:
        log = await party.play_out()
        seed = log[-1]["server_seed"]
        heard = "".join(map(repr, party.sockets[0].heard[:-1]))
        assert seed not in heard
        assert bytes.fromhex(seed).hex() == seed


async def test_client_seeds_are_public(hub: Hub) -> None:
    async with seat_four(hub, client_seed="of my own 🎲") as party:
        players = party.sockets[0].last("match_started")["players"]
        assert players == [
            {
                "seat": seat,
                "agent_id": socket.agent_id,
                "name": socket.agent_id.title(),
                "client_seed": "of my own 🎲",
            }
            for seat, socket in enumerate(party.sockets)
        ]


async def test_two_hubs_play_one_match(make_hub: MakeHub) -> None:
    hub, other_hub = await make_hub(), await make_hub()
    async with seat_four(hub, other_hub) as party:
        assert {socket.last("welcome")["hub"] for socket in party.sockets} == {hub.id, other_hub.id}
        log = await party.play_out()
    assert log[-1]["finish_reason"] == "completed"
    assert await hub.lobby.total_hp() == 4000


@pytest.mark.parametrize("direct", [True, False], ids=["direct", "plain"])
async def test_commands_are_obeyed_in_the_order_of_their_sending(
    make_hub: MakeHub, direct: bool
) -> None:
    """Even if they are sent before the welcome comes, or faster than they are obeyed."""
    hub = await make_hub(direct_writes=direct)
    async with dial(hub, "/play", headers=bearer("ann")) as socket:
        for number in range(25):
            await socket.send(type="join", id=f"join {number}")
            await socket.send(type="leave", id=f"leave {number}")
        replies = [await socket.receive() for _ in range(51)][1:]
    assert [(reply["type"], reply["id"]) for reply in replies] == [
        (reply, f"{command} {number}")
        for number in range(25)
        for reply, command in (("queued", "join"), ("left", "leave"))
    ]
