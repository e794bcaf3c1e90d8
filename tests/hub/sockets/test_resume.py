"""Snapshots, and streams that go on where they broke off (PROTOCOL.md, Transport)."""

import asyncio

from hub.app import Hub
from tests.clients import (
    Format,
    Map,
    play,
    play_match,
    seat_four,
)
from tests.conftest import MakeHub


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
