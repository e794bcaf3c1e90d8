from typing import Any

import msgspec
import pytest

from protocol.codec import Format, decode_command, decode_event, decode_server, encode
from protocol.messages import (
    AGENT_ID,
    NAME,
    AnyCommand,
    AnyEvent,
    AnyReply,
    ServerMessage,
    Welcome,
)
from tests.protocol.samples import COMMANDS, EVENTS, REPLIES, of_type

# PROTOCOL.md, without the `id` of commands and with "?" for what may be absent.
COMMAND_FIELDS = {
    "join": "client_seed? fee_min? fee_max? continuous?",
    "leave": "",
    "action": "match_id turn action params",
    "sync": "match_id?",
}
REPLY_FIELDS = {
    "welcome": "protocol hub agent_id? name? hp? match_id queued now limits",
    "queued": "id? position waiting fee_min fee_max",
    "left": "id?",
    "ack": "id? match_id turn seq replayed think_ms latency_ms",
    "snapshot": "id? match_id seq state spectators skipped?",
    "presence": "match_id seat connected",
    "crowd": "match_id spectators",
    "error": "id? code message retry_ms?",
    "bye": "code reason reconnect retry_ms",
}
LOBBY_FIELDS = {"lobby": "live waiting", "match_listed": "match", "match_closed": "match"}
EVENT_FIELDS = {
    "match_started": "players config entry_fee_hp pot_hp platform_fee_bps commitment",
    "round_started": "round casinos turn_order",
    "roll": "round turn seat dice deadline turn_ms legal_actions",
    "deadline_moved": "round turn seat deadline reason",
    "placed": "round turn seat face count nonce is_auto dice_remaining entropy away?",
    "table_talk": "round turn seat message",
    "round_settled": "round casinos money bills_won",
    "match_finished": "finish_reason winner_seat standings summary server_seed entropy",
}


def fields(type_: type[msgspec.Struct]) -> list[str]:
    return [
        field.encode_name + "?" * (not field.required) for field in msgspec.structs.fields(type_)
    ]


def described(union: Any, *common: str) -> dict[str, set[str]]:
    """Name each type's fields, those in common apart."""
    return {each.__struct_config__.tag: set(fields(each)) - set(common) for each in union.__args__}


def expected(table: dict[str, str]) -> dict[str, set[str]]:
    return {type_: set(names.split()) for type_, names in table.items()}


def test_commands_have_the_protocols_fields() -> None:
    assert described(AnyCommand, "id?") == expected(COMMAND_FIELDS)


def test_messages_from_the_hub_have_the_protocols_fields() -> None:
    found = described(ServerMessage)
    events = expected(EVENT_FIELDS)
    for names in events.values():
        names |= {"match_id", "seq", "ts"}
    assert found == expected(REPLY_FIELDS) | expected(LOBBY_FIELDS) | events


def test_the_samples_are_of_every_type() -> None:
    assert {type(each) for each in COMMANDS} == set(AnyCommand.__args__)
    assert {type(each) for each in EVENTS} == set(AnyEvent.__args__)
    assert {type(each) for each in REPLIES} | {type(each) for each in EVENTS} == set(
        ServerMessage.__args__
    )
    assert set(AnyReply.__args__) <= {type(each) for each in REPLIES}


@pytest.mark.parametrize("format", ["msgpack", "json"])
@pytest.mark.parametrize("command", COMMANDS, ids=of_type)
def test_a_command_survives_the_wire(command: AnyCommand, format: Format) -> None:
    assert decode_command(encode(command, format), format) == command


@pytest.mark.parametrize("format", ["msgpack", "json"])
@pytest.mark.parametrize("message", [*REPLIES, *EVENTS], ids=of_type)
def test_a_message_from_the_hub_survives_the_wire(message: ServerMessage, format: Format) -> None:
    assert decode_server(encode(message, format), format) == message


@pytest.mark.parametrize("format", ["msgpack", "json"])
@pytest.mark.parametrize("event", EVENTS, ids=of_type)
def test_an_event_survives_the_wire(event: AnyEvent, format: Format) -> None:
    assert decode_event(encode(event, format), format) == event


def test_what_is_absent_is_not_sent_and_what_is_null_is() -> None:
    welcome = next(each for each in REPLIES if isinstance(each, Welcome))
    spectators = msgspec.structs.replace(welcome, agent_id=None, name=None, hp=None)
    assert msgspec.json.decode(encode(spectators, "json")) == {
        "type": "welcome",
        "protocol": 1,
        "hub": "hub-1",
        "match_id": None,
        "queued": False,
        "now": 1_700_000_000_000,
        "limits": {"message_bytes": 4096, "messages_per_second": 20, "talk_chars": 140},
    }


def test_messages_can_not_be_changed() -> None:
    with pytest.raises(AttributeError, match="immutable type: 'Left'"):
        REPLIES[2].id = "x"  # type: ignore[misc, union-attr]


def test_nothing_but_the_end_of_a_match_holds_its_seed() -> None:
    """The secret is the hub's alone until then (RULES.md, Randomness)."""
    parts = [info.cls for info in _structs(msgspec.inspect.type_info(ServerMessage))]
    assert {each.__name__ for each in parts if "server_seed" in fields(each)} == {"MatchFinished"}


def _structs(info: Any) -> list[msgspec.inspect.StructType]:
    match info:
        case msgspec.inspect.UnionType(types=types):
            return [found for each in types for found in _structs(each)]
        case msgspec.inspect.VarTupleType(item_type=item):
            return _structs(item)
        case msgspec.inspect.StructType(fields=inner):
            return [info, *(found for each in inner for found in _structs(each.type))]
    return []


@pytest.mark.parametrize("text", ["a", "Agent-1.x_y", "A" * 64])
def test_an_agents_id(text: str) -> None:
    assert AGENT_ID.fullmatch(text)


@pytest.mark.parametrize("text", ["", "a b", "a/b", "é", "a\n", "A" * 65])
def test_no_agents_id(text: str) -> None:
    assert not AGENT_ID.fullmatch(text)


@pytest.mark.parametrize("text", ["Ann", "Ann O'Nym", "Åse 🎲", "n" * 32])
def test_a_name(text: str) -> None:
    assert NAME.fullmatch(text)


@pytest.mark.parametrize("text", ["", "a\x00b", "a\nb", "a\x85b", "n" * 33])
def test_no_name(text: str) -> None:
    assert not NAME.fullmatch(text)
