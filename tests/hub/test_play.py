"""An agent's way through the lobby and a match, as PROTOCOL.md describes it."""

import asyncio
import time
from typing import Any

from hub.app import Hub
from tests.clients import (
    AGENTS,
    Format,
    Map,
    Socket,
    bearer,
    dial,
    play,
    play_match,
    play_out,
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


# ---- Snapshots and resuming


async def test_connecting_in_a_match_opens_with_a_snapshot(hub: Hub, format: Format) -> None:
    async with seat_four(hub, format=format) as party:
        await party.turn(message="So far")
        agent_id = party.sockets[1].agent_id
        async with play(hub, agent_id, format=format) as again:
            snapshot = await again.receive()
            log = party.sockets[0].events
            assert snapshot == {
                "type": "snapshot",
                "match_id": party.match_id,
                "seq": log[-1]["seq"],
                "state": state_of(log),
                "spectators": 0,
            }
            await party.turn()
            assert (await again.until("placed"))["seq"] == snapshot["seq"] + 1


def state_of(log: list[Map], connected: tuple[bool, ...] = (True,) * 4) -> Map:
    """Work out the `state` of a snapshot within the first round from a match's events."""
    started, opened, roll = log[0], log[1], [each for each in log if each["type"] == "roll"][-1]
    placed = [event for event in log if event["type"] == "placed"]
    dice = {
        (number, seat): sum(
            each["count"] for each in placed if (each["face"], each["seat"]) == (number, seat)
        )
        for number in range(1, 7)
        for seat in range(4)
    }
    return {
        "round": 1,
        "rounds": 4,
        "turn": roll["turn"],
        "turn_order": opened["turn_order"],
        "current_seat": roll["seat"],
        "roll": roll["dice"],
        "deadline": roll["deadline"],
        "casinos": [
            {**casino, "dice": [dice[casino["number"], seat] for seat in range(4)]}
            for casino in opened["casinos"]
        ],
        "players": [
            {
                "seat": player["seat"],
                "agent_id": player["agent_id"],
                "name": player["name"],
                "dice_remaining": 8 - sum(dice[n, player["seat"]] for n in range(1, 7)),
                "money": 0,
                "bills_won": 0,
                "away": False,
                "connected": connected[player["seat"]],
            }
            for player in started["players"]
        ],
        "legal_actions": roll["legal_actions"],
        "entry_fee_hp": 10,
        "pot_hp": 40,
        "commitment": started["commitment"],
        "entropy": placed[-1]["entropy"],
        "recent_talk": [
            {key: event[key] for key in ("round", "turn", "seat", "message")}
            for event in log
            if event["type"] == "table_talk"
        ],
        "status": "playing",
        "winner_seat": None,
    }


async def test_sync_gets_the_snapshot_under_its_id(hub: Hub, format: Format) -> None:
    async with seat_four(hub, format=format) as party:
        await party.turn()
        log = party.sockets[0].events
        snapshot = {
            "type": "snapshot",
            "id": "s",
            "match_id": party.match_id,
            "seq": log[-1]["seq"],
            "state": state_of(log),
            "spectators": 0,
        }
        assert await party.sockets[0].ask(type="sync", id="s") == snapshot
        async with play(hub, "eve", format=format) as eve:
            assert await eve.ask(type="sync", id="s", match_id=party.match_id) == snapshot


async def test_sync_of_a_finished_match_shows_its_end(hub: Hub) -> None:
    async with seat_four(hub) as party:
        log = await party.play_out()
        snapshot = await party.sockets[0].ask(type="sync", match_id=party.match_id)
    state = snapshot["state"]
    assert (snapshot["seq"], state["status"]) == (log[-1]["seq"], "finished")
    assert state["winner_seat"] == log[-1]["winner_seat"]
    assert (state["current_seat"], state["roll"], state["deadline"]) == (None, [], None)
    assert [player["money"] for player in state["players"]] == log[-2]["money"]


async def test_a_finished_match_resumes_from_every_seq(hub: Hub) -> None:
    log = await play_match(hub)
    match_id = log[0]["match_id"]
    for after in range(len(log)):
        async with play(hub, "ann", query=f"?match_id={match_id}&after={after}") as ann:
            bye, close_code = await ann.end()
            assert ann.events == log[after:]
            assert ann.heard[1:] == [*log[after:], bye]
            assert (bye["type"], bye["code"], close_code) == ("bye", 1000, 1000)


async def test_a_finished_match_resumes_after_its_end_with_a_snapshot(hub: Hub) -> None:
    log = await play_match(hub)
    match_id = log[0]["match_id"]
    for after, expected in ((len(log), []), (len(log) + 1, ["snapshot"]), (2**53, ["snapshot"])):
        async with play(hub, "ann", query=f"?match_id={match_id}&after={after}") as ann:
            _, close_code = await ann.end()
            assert [each["type"] for each in ann.heard[1:]] == [*expected, "bye"]
            assert close_code == 1000


async def test_a_live_match_resumes_without_gap_or_repetition(
    make_hub: MakeHub, format: Format
) -> None:
    hub, other_hub = await make_hub(), await make_hub()
    async with seat_four(hub, format=format) as party:
        for _ in range(3):
            await party.turn()
        query = f"?match_id={party.match_id}&after=2"
        async with play(other_hub, party.sockets[0].agent_id, query=query, format=format) as again:
            log = await party.play_out()
            await again.after(len(log) - 1)
            assert again.events == log[2:]


async def test_resuming_while_the_match_runs_loses_nothing(make_hub: MakeHub) -> None:
    """Sockets come at every moment of a match that does not wait for them."""
    hub, other_hub = await make_hub(), await make_hub()
    async with seat_four(hub) as party:
        agent_id, query = party.sockets[0].agent_id, f"?match_id={party.match_id}&after=0"
        playing = asyncio.create_task(party.play_out())
        resumed: list[list[Map]] = []
        while not playing.done():
            async with play(other_hub, agent_id, query=query) as again:
                await again.after(party.sockets[0].events[-1]["seq"] - 1)
                resumed.append(again.events)
        log = await playing
        assert all(heard == log[: len(heard)] for heard in resumed)
        assert len(resumed) > 1


async def test_a_seq_beyond_the_newest_gets_a_snapshot(hub: Hub) -> None:
    async with seat_four(hub) as party:
        query = f"?match_id={party.match_id}&after=999"
        async with play(hub, party.sockets[0].agent_id, query=query) as again:
            assert (await again.receive())["type"] == "snapshot"
            ack = await party.turn()
            assert (await again.until("placed"))["seq"] == ack["seq"]


async def test_two_sockets_of_an_agent_both_hear_everything(hub: Hub) -> None:
    async with play(hub, "ann") as second, seat_four(hub) as party:
        log = await party.play_out()
        await second.after(len(log) - 1)
        assert second.events == log


async def test_an_ack_goes_to_the_socket_that_asked(hub: Hub) -> None:
    async with seat_four(hub) as party, play(hub, party.current.agent_id) as second:
        await party.turn()
        await second.until("roll")
        assert [message["type"] for message in second.heard] == [
            "welcome",
            "snapshot",
            "placed",
            "roll",
        ]


async def test_an_ack_tells_the_last_round_trip(hub: Hub) -> None:
    async with seat_four(hub) as party:
        agent = party.current
        assert (await party.turn())["latency_ms"] is None
        for connection in hub.server.connections:
            connection.check_pulse()
        await agent.ask(type="sync")  # by then the pong has come, too
        while party.current is not agent:
            await party.turn()
        assert (await party.turn())["latency_ms"] in range(60_000)


# ---- Presence and absence


async def test_presence_tells_of_sockets_that_come_and_go(make_hub: MakeHub) -> None:
    hub, other_hub = await make_hub(), await make_hub()
    async with seat_four(hub, other_hub) as party:
        leaver, witness = party.sockets[1], party.sockets[2]
        await leaver.connection.close()
        presence = {"type": "presence", "match_id": party.match_id, "seat": 1}
        assert await witness.until("presence") == {**presence, "connected": False}
        connected = [each["connected"] for each in (await synced(witness))["players"]]
        assert connected == [True, False, True, True]
        async with play(hub, leaver.agent_id):
            assert await witness.until("presence") == {**presence, "connected": True}


async def synced(socket: Socket) -> Map:
    state: Map = (await socket.ask(type="sync"))["state"]
    return state


async def test_a_second_socket_is_no_news(hub: Hub) -> None:
    async with seat_four(hub) as party:
        async with play(hub, party.sockets[1].agent_id) as second:
            await second.until("snapshot")
        await party.turn()
        assert all(each["type"] != "presence" for each in party.sockets[0].heard)


async def test_an_absent_agent_is_placed_for_and_hurried(make_hub: MakeHub) -> None:
    hub = await make_hub(turn_ms=9, away_ms=5)
    async with seat_four(hub) as party:
        log = await until_finished(party.sockets[0])
    placed = [event for event in log if event["type"] == "placed"]
    rolls = [event for event in log if event["type"] == "roll"]
    assert all(event["is_auto"] for event in placed)
    assert [event["face"] for event in placed] == [most_rolled(roll["dice"]) for roll in rolls]
    for seat in range(4):
        lengths = [roll["turn_ms"] for roll in rolls if roll["seat"] == seat]
        assert lengths == [9, 9] + [5] * (len(lengths) - 2)
        away = [event.get("away", False) for event in placed if event["seat"] == seat]
        assert away == [False] + [True] * (len(away) - 1)


def most_rolled(dice: list[int]) -> int:
    return max(dice, key=lambda face: (dice.count(face), face))


async def until_finished(socket: Socket) -> list[Map]:
    await socket.until("match_finished")
    return socket.events


async def test_a_match_without_an_act_returns_the_stakes(make_hub: MakeHub) -> None:
    hub = await make_hub(turn_ms=5, away_ms=5, platform_fee_bps=500)
    async with dial(hub, "/watch") as lobby, seat_four(hub) as party:
        finished = (await until_finished(party.sockets[0]))[-1]
        await lobby.until("match_closed")
    assert (finished["finish_reason"], finished["winner_seat"]) == ("no_actions", None)
    moved = finished["summary"]["hp_movement"]
    assert [(each["movement"], each["balance"]) for each in moved] == [(0, 1000)] * 4
    assert await balances(hub) == [1000] * 4
    assert await hub.lobby.total_hp() == 4000


async def balances(hub: Hub) -> list[int]:
    found = []
    for agent_id in AGENTS:
        async with dial(hub, "/play", headers=bearer(agent_id)) as socket:
            found.append((await socket.receive())["hp"])
    return found


async def test_an_act_of_ones_own_ends_the_hurry(make_hub: MakeHub) -> None:
    hub = await make_hub(turn_ms=200, away_ms=60_000)  # an away seat's turn is as long as it takes
    async with seat_four(hub) as party:
        absent, *present = party.sockets
        playing = [asyncio.create_task(play_out(socket)) for socket in present]
        rolls = [party.roll]
        while len(rolls) < 4:
            if rolls[-1]["turn_ms"] == 60_000:
                await absent.place(rolls[-1])
            roll = await absent.until("roll")
            rolls += [roll] if roll["seat"] == 0 else []
        await asyncio.gather(play_out(absent), *playing)
    assert [roll["turn_ms"] for roll in rolls] == [200, 200, 60_000, 200]


# ---- Fees and HP


async def test_the_fee_is_the_midpoint_of_the_overlap(hub: Hub) -> None:
    ranges = [(0, 100), (20, 51), (30, 1000), (10, 60)]
    async with (
        play(hub, "ann") as ann,
        play(hub, "bob") as bob,
        play(hub, "cyd") as cyd,
        play(hub, "dee") as dee,
    ):
        for agent, (low, high) in zip((ann, bob, cyd, dee), ranges, strict=True):
            await agent.ask(type="join", fee_min=low, fee_max=high)
        started = await ann.until("match_started")
        assert (started["entry_fee_hp"], started["pot_hp"]) == (40, 160)


async def test_agents_with_disjoint_ranges_are_not_seated_together(hub: Hub) -> None:
    fees: dict[str, tuple[int, int]] = {
        "ann": (1, 5),
        "bob": (6, 9),
        "cyd": (6, 9),
        "dee": (6, 9),
        "eve": (0, 9),
    }
    async with (
        play(hub, "ann") as ann,
        play(hub, "bob") as bob,
        play(hub, "cyd") as cyd,
        play(hub, "dee") as dee,
        play(hub, "eve") as eve,
    ):
        for agent in (ann, bob, cyd, dee, eve):
            low, high = fees[agent.agent_id]
            await agent.ask(type="join", fee_min=low, fee_max=high)
        started = await eve.until("match_started")
        seated = {player["agent_id"] for player in started["players"]}
        assert (seated, started["entry_fee_hp"]) == ({"bob", "cyd", "dee", "eve"}, 7)


async def test_a_free_match_moves_no_hp_and_counts_for_nobody(hub: Hub) -> None:
    async with dial(hub, "/watch") as lobby:
        log = await play_match(hub, fee_min=0, fee_max=0)
        await lobby.until("match_closed")
    assert (log[0]["entry_fee_hp"], log[0]["pot_hp"]) == (0, 0)
    assert [each["movement"] for each in log[-1]["summary"]["hp_movement"]] == [0] * 4
    assert await balances(hub) == [1000] * 4
    assert await hub.lobby.leaderboard(0, 10) == []


async def test_the_winner_takes_the_pot_less_the_platforms_part(make_hub: MakeHub) -> None:
    hub = await make_hub(platform_fee_bps=333, entry_fee_hp=25)
    async with dial(hub, "/watch") as lobby:
        finished = (await play_match(hub))[-1]
        await lobby.until("match_closed")
    moved = finished["summary"]["hp_movement"]
    expected = [72 if each["seat"] == finished["winner_seat"] else -25 for each in moved]
    assert [each["movement"] for each in moved] == expected
    assert [each["balance"] for each in moved] == [1000 + each for each in expected]
    by_agent = {each["agent_id"]: each["balance"] for each in moved}
    assert await balances(hub) == [by_agent[agent_id] for agent_id in AGENTS]
    assert await hub.lobby.total_hp() == 4000


async def test_hp_is_conserved_at_every_moment(make_hub: MakeHub) -> None:
    hub = await make_hub(platform_fee_bps=1000)
    async with seat_four(hub, continuous=True) as party:
        totals = [await hub.lobby.total_hp()]
        for _ in range(3):
            await party.play_out()
            totals.append(await hub.lobby.total_hp())
            await asyncio.gather(*(socket.until("roll") for socket in party.sockets))
            totals.append(await hub.lobby.total_hp())
    assert totals == [4000] * 7


async def test_an_agent_that_can_no_longer_pay_is_told(make_hub: MakeHub) -> None:
    hub = await make_hub(starting_hp=15)
    async with seat_four(hub, continuous=True) as party:
        log = await party.play_out()
        losers: list[Any] = [each for seat, each in enumerate(party.sockets)]
        del losers[log[-1]["winner_seat"]]
        errors = [await socket.until("error") for socket in losers]
    assert [error["code"] for error in errors] == ["insufficient_hp"] * 3
