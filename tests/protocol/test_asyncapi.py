import re
from typing import Any

from protocol.asyncapi import describe_protocol
from protocol.codec import KNOWN_TYPES


def references(part: Any) -> set[str]:
    if isinstance(part, dict):
        own = {part["$ref"]} if "$ref" in part else set()
        return own.union(*map(references, part.values()))
    if isinstance(part, list):
        return set().union(*map(references, part))
    return set()


def test_every_reference_leads_somewhere() -> None:
    document = describe_protocol()
    for reference in references(document):
        target: Any = document
        for step in reference.removeprefix("#/").split("/"):
            target = target[step]
        assert target


def test_every_message_is_there_under_its_wire_name() -> None:
    messages = describe_protocol()["components"]["messages"].values()
    assert {message["name"] for message in messages} == KNOWN_TYPES | {
        "join",
        "leave",
        "action",
        "sync",
    }


def test_schemas_carry_the_limits() -> None:
    params = describe_protocol()["components"]["schemas"]["PlaceParams"]["properties"]
    assert params["message"]["maxLength"] == 140
    assert re.fullmatch(params["nonce"]["pattern"], "salt|7") is None


def test_agents_may_send_all_commands_and_need_a_token() -> None:
    command = describe_protocol()["operations"]["command"]
    assert [each["$ref"].rsplit("/")[-1] for each in command["messages"]] == [
        "Join",
        "Leave",
        "Action",
        "Sync",
    ]
    assert command["security"] == [{"$ref": "#/components/securitySchemes/token"}]
