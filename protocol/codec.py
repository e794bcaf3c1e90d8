"""Turn bytes into messages and back: msgpack and JSON, with limits.

No sockets, no loop, no clock: bytes in, values out.
"""

import re
from typing import Any, Literal

import msgspec

from .messages import (
    JSON_SUBPROTOCOL,
    MESSAGE_LIMIT_BYTES,
    MSGPACK_SUBPROTOCOL,
    AnyCommand,
    AnyEvent,
    CommandId,
    Message,
    ServerMessage,
)

Format = Literal["msgpack", "json"]

FORMATS: dict[str, Format] = {MSGPACK_SUBPROTOCOL: "msgpack", JSON_SUBPROTOCOL: "json"}


class DecodeError(ValueError):
    """Bytes that are no known message; `id` is the command's, where it could be read."""

    def __init__(self, reason: str, id: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.id = id


class _OnlyId(msgspec.Struct):
    id: CommandId | None = None


class _OnlyType(msgspec.Struct):
    type: str


class _Glance(msgspec.Struct):
    type: str
    seat: int | None = None


class _OnlyPosition(msgspec.Struct):
    match_id: str
    seq: int


class _Codec:
    """The encoder and decoders of one format."""

    def __init__(self, encoder: Any, decoder: Any) -> None:
        self.encode = encoder().encode
        self.command = decoder(AnyCommand)
        self.server = decoder(ServerMessage)
        self.event = decoder(AnyEvent)
        self.only_id = decoder(_OnlyId)
        self.only_type = decoder(_OnlyType)
        self.glance = decoder(_Glance)
        self.only_position = decoder(_OnlyPosition)
        self.anything = decoder()


_CODECS: dict[Format, _Codec] = {
    "msgpack": _Codec(msgspec.msgpack.Encoder, msgspec.msgpack.Decoder),
    "json": _Codec(msgspec.json.Encoder, msgspec.json.Decoder),
}

# RecursionError: a few KiB of nested arrays in an unknown field exhaust the reader's depth limit.
_UNREADABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)


def encode(message: Message, format: Format) -> bytes:
    """Encode a message; the msgpack bytes, or UTF-8 JSON text."""
    return bytes(_CODECS[format].encode(message))


def decode_command(data: bytes, format: Format) -> AnyCommand:
    """Decode and check what an agent sent.

    Raises DecodeError if it is over MESSAGE_LIMIT_BYTES, is not one well-formed map of a known
    type, or a field has the wrong type or breaks a limit.
    """
    if len(data) > MESSAGE_LIMIT_BYTES:
        raise DecodeError(f"{len(data)} bytes are too many: the limit is {MESSAGE_LIMIT_BYTES}")
    codec = _CODECS[format]
    try:
        command: AnyCommand = codec.command.decode(data)
    except _UNREADABLE as error:
        reason = _reason(error)
        if reason.endswith("`$.type`"):
            reason = f"the type is none of {', '.join(COMMAND_TYPES)}"
        raise DecodeError(reason, _find_id(codec, data)) from None
    return command


def decode_server(data: bytes, format: Format) -> ServerMessage | None:
    """Decode what a hub sent; None for a type that this version does not know.

    Raises DecodeError if the bytes are no message at all.
    """
    codec = _CODECS[format]
    try:
        message: ServerMessage = codec.server.decode(data)
    except _UNREADABLE as error:
        if _is_unknown_type(codec, data):
            return None
        raise DecodeError(_reason(error)) from None
    return message


def find_position(data: bytes, format: Format) -> tuple[str, int] | None:
    """Find the match_id and seq of an event, be its type known or not; None if it has none.

    A client needs them of the events that it ignores, or it would miss those later.
    """
    try:
        found: _OnlyPosition = _CODECS[format].only_position.decode(data)
    except _UNREADABLE:
        return None
    return found.match_id, found.seq


def decode_event(data: bytes, format: Format) -> AnyEvent:
    """Decode one match event. Raises DecodeError if the bytes are none."""
    try:
        event: AnyEvent = _CODECS[format].event.decode(data)
    except _UNREADABLE as error:
        raise DecodeError(_reason(error)) from None
    return event


def glance(packed: bytes) -> tuple[str, int | None]:
    """Read no more of a well-formed msgpack message than its `type` and, if any, its `seat`."""
    found: _Glance = _CODECS["msgpack"].glance.decode(packed)
    return found.type, found.seat


def to_json(packed: bytes) -> bytes:
    """Rewrite one msgpack message as JSON, field for field."""
    return bytes(_CODECS["json"].encode(_CODECS["msgpack"].anything.decode(packed)))


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return _PATTERN.sub(
        "`str` without control characters (or `|`, in seeds and nonces)", str(error)
    )


def _find_id(codec: _Codec, data: bytes) -> str | None:
    try:
        found: str | None = codec.only_id.decode(data).id
    except _UNREADABLE:
        return None
    return found


def _is_unknown_type(codec: _Codec, data: bytes) -> bool:
    try:
        type_: str = codec.only_type.decode(data).type
    except _UNREADABLE:
        return False
    return type_ not in KNOWN_TYPES


_PATTERN = re.compile(r"`str` matching regex '.*'")  # what msgspec says of text that breaks one

COMMAND_TYPES = tuple(str(member.__struct_config__.tag) for member in AnyCommand.__args__)

KNOWN_TYPES: frozenset[str] = frozenset(
    str(member.__struct_config__.tag) for member in ServerMessage.__args__
)
