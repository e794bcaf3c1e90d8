"""The tests feed bytes as they could come from anyone, in both formats."""

import json
from typing import Any

import msgpack
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from protocol.codec import (
    DecodeError,
    Format,
    decode_command,
    decode_event,
    decode_server,
    encode,
    find_position,
    glance,
    to_json,
)
from protocol.messages import (
    INTEGER_LIMIT,
    MESSAGE_LIMIT_BYTES,
    Action,
    Join,
    Leave,
    PlaceParams,
    Sync,
)
from tests.protocol.samples import COMMANDS, EVENTS, REPLIES, of_type

Map = dict[str, Any]

ACTION: Map = {
    "type": "action",
    "id": "key",
    "match_id": "m0",
    "turn": 7,
    "action": "place",
    "params": {"face": 3},
}
LEAVE: Map = {"type": "leave", "id": "key"}

FORMATS: tuple[Format, ...] = ("msgpack", "json")

# Hypothesis must not measure time on a shared machine.
untimed = settings(deadline=None)

formats = pytest.mark.parametrize("format", FORMATS)

NO_TYPE = "the type is none of join, leave, action, sync"


def pack(value: Any, format: Format) -> bytes:
    return json.dumps(value).encode() if format == "json" else msgpack.packb(value)


def fault(data: bytes, format: Format) -> tuple[str, str | None]:
    """Return the reason why bytes are no command, and the id that was read nevertheless."""
    with pytest.raises(DecodeError) as caught:
        decode_command(data, format)
    return caught.value.reason, caught.value.id


def faulty(value: Any, format: Format) -> tuple[str, str | None]:
    return fault(pack(value, format), format)


def with_params(**params: Any) -> Map:
    return {**ACTION, "params": {"face": 3, **params}}


# ---- Commands ------------------------------------------------------------------------------------


@formats
@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ({"type": "join"}, Join()),
        ({"type": "leave"}, Leave()),
        ({"type": "sync"}, Sync()),
        ({"type": "sync", "match_id": None}, Sync()),
        (
            ACTION,
            Action(id="key", match_id="m0", turn=7, action="place", params=PlaceParams(face=3)),
        ),
    ],
)
def test_what_is_left_out_has_a_default(sent: Map, read: object, format: Format) -> None:
    assert decode_command(pack(sent, format), format) == read


@formats
def test_unknown_fields_are_ignored(format: Format) -> None:
    sent = {**LEAVE, "mood": {"of": ["the", 1.5, None, True]}}
    assert decode_command(pack(sent, format), format) == Leave(id="key")


@formats
@pytest.mark.parametrize("value", [None, True, 7, 1.5, "leave", [LEAVE], [], {}])
def test_a_command_is_a_map_with_a_type(value: Any, format: Format) -> None:
    _, id = faulty(value, format)
    assert id is None


@formats
@pytest.mark.parametrize("type_", ["dance", "Leave", "", "roll", 7, None, ["leave"]])
def test_a_type_must_be_a_commands(type_: Any, format: Format) -> None:
    reason, id = faulty({"id": "key", "type": type_}, format)
    assert reason == NO_TYPE
    assert id == "key"


@formats
def test_a_type_given_twice_must_be_one(format: Format) -> None:
    twice = {
        "msgpack": b"\x82\xa4type\xa5leave\xa4type\xa4join",
        "json": b'{"type": "leave", "type": "join"}',
    }
    assert fault(twice[format], format) == (NO_TYPE, None)


@formats
@pytest.mark.parametrize("field", ["match_id", "turn", "action", "params"])
def test_an_action_lacks_nothing(field: str, format: Format) -> None:
    lacking = {key: value for key, value in ACTION.items() if key != field}
    assert faulty(lacking, format) == (f"Object missing required field `{field}`", "key")


@formats
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("match_id", 7),
        ("match_id", None),
        ("turn", "7"),
        ("turn", True),
        ("turn", 7.0),
        ("turn", None),
        ("action", "pass"),
        ("action", 1),
        ("params", [3]),
        ("params", None),
        ("params", {}),
    ],
)
def test_a_field_has_its_type(field: str, value: Any, format: Format) -> None:
    reason, id = faulty({**ACTION, field: value}, format)
    assert f"$.{field}`" in reason
    assert id == "key"


@formats
@pytest.mark.parametrize("face", [True, False, 3.0, 3.5, "3", None, [3], {"face": 3}])
def test_a_face_is_an_integer(face: Any, format: Format) -> None:
    reason, id = faulty(with_params(face=face), format)
    assert reason.startswith("Expected `int`, got ")
    assert id == "key"


def test_a_face_is_not_nan() -> None:
    """In msgpack; JSON knows no NaN."""
    reason, id = faulty(with_params(face=float("nan")), "msgpack")
    assert (reason, id) == ("Expected `int`, got `float` - at `$.params.face`", "key")


@formats
@pytest.mark.parametrize("turn", [INTEGER_LIMIT, -INTEGER_LIMIT, 0])
def test_integers_go_to_the_limit(turn: int, format: Format) -> None:
    command = decode_command(pack({**ACTION, "turn": turn}, format), format)
    assert isinstance(command, Action)
    assert command.turn == turn


@formats
@pytest.mark.parametrize(
    "turn", [INTEGER_LIMIT + 1, -INTEGER_LIMIT - 1, 2**63, 2**64 - 1, -(2**63)]
)
def test_integers_go_no_further(turn: int, format: Format) -> None:
    reason, id = faulty({**ACTION, "turn": turn}, format)
    assert reason.startswith("Expected `int` ")
    assert id == "key"


def test_an_integer_of_thousands_of_digits_is_out_of_range() -> None:
    digits = b'{"type":"action","id":"key","turn":' + b"1" * 4000 + b"}"
    reason, id = fault(digits, "json")
    assert (reason, id) == ("Expected `int` <= 9007199254740992 - at `$.turn`", "key")


@formats
@pytest.mark.parametrize("fee", ["fee_min", "fee_max"])
def test_a_fee_is_not_negative(fee: str, format: Format) -> None:
    reason, id = faulty({"type": "join", "id": "key", fee: -1}, format)
    assert (reason, id) == (f"Expected `int` >= 0 - at `$.{fee}`", "key")


# ---- Text ----------------------------------------------------------------------------------------


@formats
@pytest.mark.parametrize("talk", ["", "x" * 140, "🎲" * 140, "a|b", "naïve"])
def test_talk_has_up_to_140_characters(talk: str, format: Format) -> None:
    command = decode_command(pack(with_params(message=talk), format), format)
    assert isinstance(command, Action)
    assert command.params.message == talk


@formats
def test_talk_has_no_more_than_140_characters(format: Format) -> None:
    assert faulty(with_params(message="x" * 141), format) == (
        "Expected `str` of length <= 140 - at `$.params.message`",
        "key",
    )


CONTROLS = ["\x00", "\t", "\n", "\r", "\x1b", "\x1f", "\x7f", "\x80", "\x9f"]


@formats
@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("text", ["{}", "a{}b", "a{}"])
def test_talk_has_no_control_characters(text: str, control: str, format: Format) -> None:
    reason, id = faulty(with_params(message=text.format(control)), format)
    assert reason.startswith("Expected `str` without control characters")
    assert id == "key"


@formats
@pytest.mark.parametrize("text", ["|", "a|b", *CONTROLS])
def test_a_nonce_has_no_separator_and_no_control_characters(text: str, format: Format) -> None:
    reason, _ = faulty(with_params(nonce=text), format)
    assert reason.startswith("Expected `str` without control characters")


@formats
@pytest.mark.parametrize("text", ["|", "a|b", *CONTROLS])
def test_a_seed_has_no_separator_and_no_control_characters(text: str, format: Format) -> None:
    reason, _ = faulty({"type": "join", "client_seed": text}, format)
    assert reason.startswith("Expected `str` without control characters")


@formats
def test_a_nonce_has_up_to_64_characters(format: Format) -> None:
    command = decode_command(pack(with_params(nonce="é" * 64), format), format)
    assert isinstance(command, Action)
    assert command.params.nonce == "é" * 64


@formats
@pytest.mark.parametrize(
    "command", [with_params(nonce="x" * 65), {"type": "join", "id": "key", "client_seed": "x" * 65}]
)
def test_nonces_and_seeds_have_no_more_than_64_characters(command: Map, format: Format) -> None:
    reason, id = faulty(command, format)
    assert reason.startswith("Expected `str` of length <= 64")
    assert id == "key"


@formats
@pytest.mark.parametrize("id", ["k", "k" * 64])
def test_an_id_has_1_to_64_characters(id: str, format: Format) -> None:
    assert decode_command(pack({**LEAVE, "id": id}, format), format) == Leave(id=id)


@formats
@pytest.mark.parametrize("id", ["", "k" * 65, 7, True, ["key"]])
def test_a_faulty_id_is_not_echoed(id: Any, format: Format) -> None:
    reason, echoed = faulty({**LEAVE, "id": id}, format)
    assert reason.endswith("at `$.id`")
    assert echoed is None


@pytest.mark.parametrize(
    ("data", "format"),
    [
        (b"\x82\xa4type\xa5leave\xa2id\xa1\xff", "msgpack"),
        (b"\x82\xa4type\xa5leave\xa2id\xa3\xed\xa0\x80", "msgpack"),
        (b'{"type": "leave", "id": "\xff"}', "json"),
        (b'{"type": "leave", "id": "\xed\xa0\x80"}', "json"),
    ],
)
def test_text_is_utf_8(data: bytes, format: Format) -> None:
    assert fault(data, format) == ("Invalid UTF-8 encoded string", None)


@pytest.mark.parametrize("escape", [rb"\ud800", rb"\udc00", rb"\ud800\ud800", rb"\ud800x"])
def test_text_has_no_lone_surrogates(escape: bytes) -> None:
    _, id = fault(b'{"type": "leave", "id": "' + escape + b' and more"}', "json")
    assert id is None


# ---- Bytes ---------------------------------------------------------------------------------------


@formats
def test_a_command_has_up_to_4_kib(format: Format) -> None:
    padded = pack({**LEAVE, "pad": ""}, format)
    short = MESSAGE_LIMIT_BYTES - len(padded) - 2 * (format == "msgpack")
    data = pack({**LEAVE, "pad": "x" * short}, format)
    assert len(data) == MESSAGE_LIMIT_BYTES
    assert decode_command(data, format) == Leave(id="key")


@formats
def test_a_command_has_no_more_than_4_kib(format: Format) -> None:
    data = pack(LEAVE, format).ljust(MESSAGE_LIMIT_BYTES + 1)
    assert fault(data, format) == ("4097 bytes are too many: the limit is 4096", None)


@formats
def test_nothing_follows_a_command(format: Format) -> None:
    reason, _ = fault(pack(LEAVE, format) * 2, format)
    assert "trailing characters" in reason


@formats
@pytest.mark.parametrize("length", range(len(pack(LEAVE, "msgpack"))))
def test_a_command_is_whole(length: int, format: Format) -> None:
    _, id = fault(pack(LEAVE, format)[:length], format)
    assert id is None


@pytest.mark.parametrize(
    "head",
    [
        b"\xdf\xff\xff\xff\xff",
        b"\xdd\xff\xff\xff\xff",
        b"\xdb\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
    ],
    ids=["map", "array", "str", "bin"],
)
@pytest.mark.parametrize("before", [b"", b"\x82\xa4type\xa5leave\xa1x"], ids=["alone", "inside"])
def test_a_huge_announced_size_is_not_believed(before: bytes, head: bytes) -> None:
    _, id = fault(before + head, "msgpack")
    assert id is None


NESTED = {
    "msgpack": b"\x83\xa4type\xa5leave\xa2id\xa3key\xa1x" + b"\x91" * 4000 + b"\x90",
    "json": b'{"type": "leave", "id": "key", "x": ' + b"[" * 2000 + b"]" * 2000 + b"}",
}


@formats
def test_nesting_has_an_end(format: Format) -> None:
    assert fault(NESTED[format], format) == ("nested too deeply", None)


@pytest.mark.parametrize("data", [b"\xc1", b"", b"\x81\x05\x05", b"{}", b'{"type": "leave"}'])
def test_what_is_no_msgpack_map_is_no_command(data: bytes) -> None:
    _, id = fault(data, "msgpack")
    assert id is None


@pytest.mark.parametrize(
    "data",
    [b"", b"leave", b"{", b"{'type': 'leave'}", b'{"type": "leave",}', b"\xef\xbb\xbf{}", b"\x80"]
    + [b'{"type": "leave", "x": ' + value + b"}" for value in (b"NaN", b"Infinity", b"01", b"+1")],
)
def test_what_is_no_json_is_no_command(data: bytes) -> None:
    _, id = fault(data, "json")
    assert id is None


texts = st.text(max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)
commands = st.fixed_dictionaries(
    {"type": st.sampled_from(["join", "leave", "action", "sync"]) | values},
    optional={
        name: values | st.sampled_from(["place", {"face": 3}, 7, "m0"])
        for name in ("id", "match_id", "turn", "action", "params", "fee_min", "fee_max")
    },
)


def is_read_or_refused(data: bytes, format: Format) -> None:
    """Decode; anything but a DecodeError fails the test. What is read survives the wire."""
    try:
        command = decode_command(data, format)
    except DecodeError:
        return
    assert decode_command(encode(command, format), format) == command


@given(st.binary(max_size=200), st.sampled_from(FORMATS))
@example(NESTED["msgpack"], "msgpack")
@example(NESTED["json"], "json")
@untimed
def test_any_bytes_are_read_or_refused(data: bytes, format: Format) -> None:
    is_read_or_refused(data, format)


@given(commands, st.sampled_from(FORMATS))
@untimed
def test_any_map_is_read_or_refused(command: Map, format: Format) -> None:
    is_read_or_refused(pack(command, format), format)


@given(st.sampled_from(COMMANDS), st.sampled_from(FORMATS), st.data())
@untimed
def test_any_damaged_command_is_read_or_refused(
    command: Any, format: Format, data: st.DataObject
) -> None:
    sent = bytearray(encode(command, format))
    place = data.draw(st.integers(0, len(sent) - 1))
    sent[place] = data.draw(st.integers(0, 255))
    is_read_or_refused(bytes(sent), format)


# ---- What hubs send ------------------------------------------------------------------------------

FIREWORKS = {"type": "fireworks", "match_id": "m0", "seq": 9, "ts": 0, "rockets": 3}


@formats
def test_an_unknown_type_is_none(format: Format) -> None:
    assert decode_server(pack(FIREWORKS, format), format) is None


@formats
@pytest.mark.parametrize("value", [{}, {"type": 7}, {"type": "left", "id": 7}, [FIREWORKS], "left"])
def test_what_is_no_message_is_an_error(value: Any, format: Format) -> None:
    with pytest.raises(DecodeError):
        decode_server(pack(value, format), format)


@formats
def test_an_event_of_an_unknown_type_has_its_position(format: Format) -> None:
    assert find_position(pack(FIREWORKS, format), format) == ("m0", 9)


@formats
@pytest.mark.parametrize("value", [{"type": "fireworks"}, {"match_id": "m0", "seq": "9"}, 7])
def test_what_is_no_event_has_no_position(value: Any, format: Format) -> None:
    assert find_position(pack(value, format), format) is None


@formats
@pytest.mark.parametrize("value", [FIREWORKS, {"type": "left"}, {"type": "roll"}, 7])
def test_what_is_no_event_is_an_error(value: Any, format: Format) -> None:
    with pytest.raises(DecodeError):
        decode_event(pack(value, format), format)


@given(st.binary(max_size=200), st.sampled_from(FORMATS))
@example(NESTED["msgpack"], "msgpack")
@example(NESTED["json"], "json")
@untimed
def test_any_bytes_from_a_hub_are_read_or_refused(data: bytes, format: Format) -> None:
    """Anything but a DecodeError fails the test."""
    for decode in (decode_server, decode_event):
        try:
            decode(data, format)
        except DecodeError:
            continue
    find_position(data, format)


@pytest.mark.parametrize("message", [*REPLIES, *EVENTS], ids=of_type)
def test_msgpack_becomes_the_same_json(message: Any) -> None:
    assert to_json(encode(message, "msgpack")) == encode(message, "json")


def test_json_keeps_fields_that_this_version_does_not_know() -> None:
    assert json.loads(to_json(msgpack.packb(FIREWORKS))) == FIREWORKS


@pytest.mark.parametrize("message", [*REPLIES, *EVENTS], ids=of_type)
def test_a_type_is_read_alone(message: Any) -> None:
    expected = (of_type(message), getattr(message, "seat", None))
    assert glance(encode(message, "msgpack")) == expected
