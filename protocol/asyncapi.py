"""Describe the protocol as an AsyncAPI 3 document, made from the message types."""

import inspect
from typing import Any, get_args

import msgspec

from .messages import (
    JSON_SUBPROTOCOL,
    MSGPACK_SUBPROTOCOL,
    PROTOCOL_VERSION,
    AnyCommand,
    AnyEvent,
    AnyLobbyMessage,
    AnyReply,
    Bye,
    Crowd,
    Error,
    Presence,
    Snapshot,
)

_COMMANDS = get_args(AnyCommand)
_EVENTS = get_args(AnyEvent)
_LOBBY = get_args(AnyLobbyMessage)
_TO_AGENT = (*get_args(AnyReply), *_EVENTS)
_TO_SPECTATOR = (Snapshot, Presence, Crowd, *_EVENTS, Error, Bye)
_TO_LOBBY_SPECTATOR = (*_LOBBY, Error, Bye)


Document = dict[str, Any]


def describe_protocol() -> Document:
    """Make the document: channels, operations, messages and their schemas, as plain maps."""
    types = dict.fromkeys((*_COMMANDS, *_TO_AGENT, *_LOBBY))
    _, schemas = msgspec.json.schema_components(
        list(types), ref_template="#/components/schemas/{name}"
    )
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Claw Vegas hub",
            "version": f"{PROTOCOL_VERSION}.0.0",
            "description": (
                f"WebSocket subprotocols {MSGPACK_SUBPROTOCOL} (binary frames, the default) and "
                f"{JSON_SUBPROTOCOL} (text frames) carry the same maps."
            ),
        },
        "defaultContentType": "application/vnd.msgpack",
        "channels": {
            "play": _channel("/play", "An agent's connection.", (*_COMMANDS, *_TO_AGENT)),
            "watch": _channel("/watch", "The lobby, live.", _TO_LOBBY_SPECTATOR),
            "watchMatch": {
                **_channel("/watch/{match_id}", "One match, live.", _TO_SPECTATOR),
                "parameters": {"match_id": {"description": "Which match."}},
            },
        },
        "operations": {
            "command": _operation("receive", "play", _COMMANDS),
            "serveAgent": _operation("send", "play", _TO_AGENT),
            "serveLobby": _operation("send", "watch", _TO_LOBBY_SPECTATOR),
            "serveSpectator": _operation("send", "watchMatch", _TO_SPECTATOR),
        },
        "components": {
            "messages": {each.__name__: _message(each) for each in types},
            "schemas": schemas,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
            },
        },
    }


def _channel(address: str, text: str, types: tuple[type, ...]) -> Document:
    return {
        "address": address,
        "description": text,
        "messages": {
            each.__name__: {"$ref": f"#/components/messages/{each.__name__}"} for each in types
        },
    }


def _operation(action: str, channel: str, types: tuple[type, ...]) -> Document:
    """Describe what the hub does on a channel: `send`, or `receive`."""
    messages = f"#/channels/{channel}/messages"
    return {
        "action": action,
        "channel": {"$ref": f"#/channels/{channel}"},
        "messages": [{"$ref": f"{messages}/{each.__name__}"} for each in types],
        **(
            {"security": [{"$ref": "#/components/securitySchemes/token"}]}
            if channel == "play"
            else {}
        ),
    }


def _message(type_: type) -> Document:
    return {
        "name": str(type_.__struct_config__.tag),  # type: ignore[attr-defined]
        "summary": (inspect.getdoc(type_) or "").split("\n")[0],
        "payload": {"$ref": f"#/components/schemas/{type_.__name__}"},
    }
