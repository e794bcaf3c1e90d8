"""Each refusal of PROTOCOL.md's error table, on a seated agent's socket in a live match."""

from collections.abc import Callable
from typing import Any

import pytest

from hub.app import Hub
from tests.clients import Format, Map, assert_untouched, placement, play, seat_four
from tests.conftest import MakeHub

MISSING: Any = object()


def missing_face(roll: Map) -> int:
    return next(face for face in range(1, 7) if face not in roll["dice"])


def altered(roll: Map, **changes: Any) -> Map:
    """Change the action that answers a roll; names of `params` fields start with params__."""
    action = placement(roll)
    for name, value in changes.items():
        part, field = (
            (action["params"], name[8:]) if name.startswith("params__") else (action, name)
        )
        part[field] = value
        if value is MISSING:
            del part[field]
    return action


def is_sentence(text: str) -> bool:
    return len(text.split()) >= 3


BAD_FIELDS: dict[str, Map] = {
    "face_is_a_bool": {"params__face": True},
    "face_is_a_float": {"params__face": 3.5},
    "face_is_a_whole_float": {"params__face": 3.0},
    "face_is_a_string": {"params__face": "3"},
    "face_is_null": {"params__face": None},
    "face_is_a_list": {"params__face": [3]},
    "face_is_missing": {"params__face": MISSING},
    "face_is_over_53_bits": {"params__face": 2**53 + 1},
    "face_is_2_to_the_63": {"params__face": 2**63},
    "face_is_minus_2_to_the_63": {"params__face": -(2**63)},
    "turn_is_a_bool": {"turn": False},
    "turn_is_a_float": {"turn": 1.0},
    "turn_is_a_string": {"turn": "1"},
    "turn_is_null": {"turn": None},
    "turn_is_missing": {"turn": MISSING},
    "turn_is_2_to_the_63": {"turn": 2**63},
    "match_id_is_a_number": {"match_id": 7},
    "match_id_is_null": {"match_id": None},
    "match_id_is_missing": {"match_id": MISSING},
    "action_is_unknown": {"action": "pass"},
    "action_is_missing": {"action": MISSING},
    "params_is_a_list": {"params": [3]},
    "params_is_null": {"params": None},
    "params_is_missing": {"params": MISSING},
    "message_has_141_characters": {"params__message": "x" * 141},
    "message_has_141_emoji": {"params__message": "\N{GAME DIE}" * 141},
    "message_has_a_newline": {"params__message": "one\ntwo"},
    "message_has_an_escape": {"params__message": "\x1b[2J"},
    "message_has_a_c1_control": {"params__message": "\x9b2J"},
    "message_is_null": {"params__message": None},
    "message_is_a_number": {"params__message": 5},
    "nonce_has_a_bar": {"params__nonce": "a|b"},
    "nonce_has_a_control_character": {"params__nonce": "a\x00b"},
    "nonce_has_65_characters": {"params__nonce": "n" * 65},
    "type_is_unknown": {"type": "pass"},
    "type_is_one_of_the_hubs": {"type": "welcome"},
    "type_is_a_number": {"type": 1},
    "type_is_missing": {"type": MISSING},
}


@pytest.mark.parametrize("changes", BAD_FIELDS.values(), ids=BAD_FIELDS)
async def test_a_wrong_field_is_a_bad_message(hub: Hub, format: Format, changes: Map) -> None:
    async with seat_four(hub, format=format) as party:
        reply = await party.current.ask(**{**altered(party.roll, **changes), "id": "the id"})
        assert {**reply, "message": ""} == error("bad_message", "the id")
        assert is_sentence(reply["message"])
        await assert_untouched(party)


def error(code: str, id: str | None) -> Map:
    named = {} if id is None else {"id": id}
    return {"type": "error", **named, "code": code, "message": ""}


@pytest.mark.parametrize("id", ["", "i" * 65, 7, True, ["a"]])
async def test_a_wrong_id_is_a_bad_message_and_not_echoed(
    hub: Hub, format: Format, id: Any
) -> None:
    async with seat_four(hub, format=format) as party:
        await party.current.send(**placement(party.roll), id=id)
        reply = await party.current.until("error")
        assert {**reply, "message": ""} == error("bad_message", None)
        await assert_untouched(party)


Illegal = Callable[[Map], Map]

ILLEGAL: dict[str, tuple[str, Illegal]] = {
    "face_not_rolled": (
        "illegal_face",
        lambda roll: altered(roll, params__face=missing_face(roll)),
    ),
    "face_0": ("illegal_face", lambda roll: altered(roll, params__face=0)),
    "face_7": ("illegal_face", lambda roll: altered(roll, params__face=7)),
    "face_minus_1": ("illegal_face", lambda roll: altered(roll, params__face=-1)),
    "turn_before": ("stale_turn", lambda roll: altered(roll, turn=roll["turn"] - 1)),
    "turn_after": ("stale_turn", lambda roll: altered(roll, turn=roll["turn"] + 1)),
    "turn_0": ("stale_turn", lambda roll: altered(roll, turn=0)),
    "turn_minus_1": ("stale_turn", lambda roll: altered(roll, turn=-1)),
    "turn_of_53_bits": ("stale_turn", lambda roll: altered(roll, turn=2**53)),
    "no_such_match": ("match_not_found", lambda roll: altered(roll, match_id="nowhere")),
    "empty_match_id": ("match_not_found", lambda roll: altered(roll, match_id="")),
    "odd_match_id": ("match_not_found", lambda roll: altered(roll, match_id="{t00}\x00\u2028*")),
}


@pytest.mark.parametrize(("code", "make"), ILLEGAL.values(), ids=ILLEGAL)
async def test_an_illegal_action_is_refused(
    hub: Hub, format: Format, code: str, make: Illegal
) -> None:
    async with seat_four(hub, format=format) as party:
        while len(set(party.roll["dice"])) == 6 or party.roll["turn"] == 1:
            await party.turn()
        reply = await party.current.ask(**make(party.roll))
        assert (reply["type"], reply["code"]) == ("error", code)
        assert is_sentence(reply["message"])
        await assert_untouched(party)


async def test_someone_elses_turn_is_refused(hub: Hub, format: Format) -> None:
    async with seat_four(hub, format=format) as party:
        replies = [await socket.place(party.roll) for socket in party.others]
        assert [reply["code"] for reply in replies] == ["not_your_turn"] * 3
        assert f"seat {party.roll['seat']} is to act" in replies[0]["message"]
        await assert_untouched(party)


async def test_an_action_in_others_match_is_refused(hub: Hub, format: Format) -> None:
    async with seat_four(hub, format=format) as party, play(hub, "eve", format=format) as eve:
        reply = await eve.place(party.roll)
        assert (reply["code"], is_sentence(reply["message"])) == ("not_seated", True)
        await assert_untouched(party)


async def test_an_action_in_a_finished_match_is_stale(hub: Hub, format: Format) -> None:
    async with seat_four(hub, format=format) as party:
        await party.play_out()
        reply = await party.current.place(party.roll)
        assert (reply["code"], is_sentence(reply["message"])) == ("stale_turn", True)


async def test_an_action_that_was_refused_left_its_id_free(hub: Hub) -> None:
    async with seat_four(hub) as party:
        refused = await party.current.place(party.roll, face=7)
        taken = await party.current.ask(**placement(party.roll), id=refused["id"])
        assert (taken["type"], taken["replayed"]) == ("ack", False)


async def test_140_emoji_are_table_talk(hub: Hub, format: Format) -> None:
    text = "\N{GAME DIE}" * 140
    async with seat_four(hub, format=format) as party:
        await party.turn(message=text)
        said = [socket.last("table_talk")["message"] for socket in party.sockets]
        assert said == [text] * 4


async def test_unknown_fields_are_ignored(hub: Hub, format: Format) -> None:
    async with seat_four(hub, format=format) as party:
        action = altered(party.roll, params__mood="good", later=[1, {"a": None}])
        assert (await party.current.ask(**action))["type"] == "ack"


# ---- The lobby


async def test_join_while_queued_is_refused(hub: Hub, format: Format) -> None:
    async with play(hub, "ann", format=format) as ann:
        await ann.ask(type="join")
        reply = await ann.ask(type="join")
        assert (reply["code"], is_sentence(reply["message"])) == ("already_queued", True)


async def test_join_while_seated_is_refused(hub: Hub, format: Format) -> None:
    async with seat_four(hub, format=format) as party:
        reply = await party.current.ask(type="join")
        assert reply["code"] == "already_seated"
        assert party.match_id in reply["message"]
        await assert_untouched(party)


@pytest.mark.parametrize(
    "fees",
    [{"fee_min": 11, "fee_max": 10}, {"fee_min": 5}, {"fee_max": 50}],
    ids=["upside_down", "no_fee_max", "no_fee_min"],
)
async def test_half_a_fee_range_is_refused(hub: Hub, format: Format, fees: Map) -> None:
    async with play(hub, "ann", format=format) as ann:
        reply = await ann.ask(type="join", **fees)
        assert (reply["code"], is_sentence(reply["message"])) == ("fee_range", True)


@pytest.mark.parametrize(
    "field",
    [
        {"fee_min": -1, "fee_max": 5},
        {"fee_min": 0, "fee_max": 2**53 + 1},
        {"fee_min": 0.5, "fee_max": 1},
        {"fee_min": "0", "fee_max": "1"},
        {"client_seed": "a|b"},
        {"client_seed": "a\nb"},
        {"client_seed": "s" * 65},
        {"client_seed": 5},
        {"continuous": "yes"},
        {"continuous": 1},
    ],
    ids=str,
)
async def test_a_join_with_a_wrong_field_is_a_bad_message(
    hub: Hub, format: Format, field: Map
) -> None:
    async with play(hub, "ann", format=format) as ann:
        reply = await ann.ask(type="join", **field)
        assert (reply["code"], is_sentence(reply["message"])) == ("bad_message", True)
        assert (await ann.ask(type="join"))["type"] == "queued"


async def test_a_join_beyond_ones_means_is_refused(make_hub: MakeHub, format: Format) -> None:
    hub = await make_hub(starting_hp=5)
    async with play(hub, "ann", format=format) as ann:
        reply = await ann.ask(type="join", fee_min=6, fee_max=9)
        assert reply["code"] == "insufficient_hp"
        assert "you have 5" in reply["message"]
        assert (await ann.ask(type="join", fee_min=5, fee_max=9))["type"] == "queued"


async def test_sync_without_a_seat_is_refused(hub: Hub, format: Format) -> None:
    async with play(hub, "ann", format=format) as ann:
        reply = await ann.ask(type="sync")
        assert (reply["code"], is_sentence(reply["message"])) == ("not_seated", True)


async def test_sync_of_an_unknown_match_is_refused(hub: Hub, format: Format) -> None:
    async with play(hub, "ann", format=format) as ann:
        reply = await ann.ask(type="sync", match_id="nowhere")
        assert (reply["code"], is_sentence(reply["message"])) == ("match_not_found", True)
