"""Every message of the wire protocol, once, as typed immutable structs.

A struct's tag (its class name in snake case) is the message's `type`. An optional field that is
absent on the wire is None here, and None is not sent; a field that the protocol sends as null has
no default. Money is in whole dollars, HP are whole points, times are in ms. Source: PROTOCOL.md.
"""

import re
from enum import StrEnum
from typing import Annotated, Literal, NewType

import msgspec
from msgspec import Meta

PROTOCOL_VERSION = 1

MSGPACK_SUBPROTOCOL = "vegas.v1.msgpack"
JSON_SUBPROTOCOL = "vegas.v1.json"
TOKEN_SUBPROTOCOL_PREFIX = "bearer."

MESSAGE_LIMIT_BYTES = 4096  # the largest message a hub reads
TALK_LIMIT_CHARS = 140  # RULES.md, Constants
INTEGER_LIMIT = 2**53  # what every JSON reader holds exactly (PROTOCOL.md, Transport)

AgentId = NewType("AgentId", str)
MatchId = NewType("MatchId", str)

_NO_CONTROLS = r"\A[^\x00-\x1f\x7f-\x9f]*\Z"
_SEED_TEXT = r"\A[^|\x00-\x1f\x7f-\x9f]*\Z"  # RULES.md, Randomness: "|" separates the fields

AGENT_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
NAME = re.compile(r"[^\x00-\x1f\x7f-\x9f]{1,32}")

Int = Annotated[int, Meta(ge=-INTEGER_LIMIT, le=INTEGER_LIMIT)]
Fee = Annotated[int, Meta(ge=0, le=INTEGER_LIMIT)]
CommandId = Annotated[str, Meta(min_length=1, max_length=64)]
Talk = Annotated[str, Meta(max_length=TALK_LIMIT_CHARS, pattern=_NO_CONTROLS)]
SeedText = Annotated[str, Meta(max_length=64, pattern=_SEED_TEXT)]


class ErrorCode(StrEnum):
    """Say why a command was refused (PROTOCOL.md, Errors and closing)."""

    BAD_MESSAGE = "bad_message"
    NOT_SEATED = "not_seated"
    ALREADY_QUEUED = "already_queued"
    ALREADY_SEATED = "already_seated"
    MATCH_NOT_FOUND = "match_not_found"
    NOT_YOUR_TURN = "not_your_turn"
    STALE_TURN = "stale_turn"
    DEADLINE_PASSED = "deadline_passed"
    ILLEGAL_FACE = "illegal_face"
    KEY_REUSED = "key_reused"
    INSUFFICIENT_HP = "insufficient_hp"
    FEE_RANGE = "fee_range"
    RATE_LIMITED = "rate_limited"
    UNAVAILABLE = "unavailable"
    DRAINING = "draining"


class CloseCode:
    """Name the WebSocket close codes that a hub uses (PROTOCOL.md, Errors and closing)."""

    ENDED = 1000
    GOING_AWAY = 1001
    UNSUPPORTED_DATA = 1003
    POLICY = 1008
    TRY_AGAIN_LATER = 1013


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


class Part(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A map inside a message."""


class Message(Part, frozen=True, kw_only=True, tag_field="type", tag=_snake):
    """A message: a map with a `type`."""


# ---- Agent to hub ----------------------------------------------------------------------------


class Command(Message, frozen=True, kw_only=True):
    """A message from an agent; `id` is echoed in its one reply."""

    id: CommandId | None = None


class Join(Command, frozen=True, kw_only=True):
    """Queue for a match; without a fee range, at the hub's standard fee only."""

    client_seed: SeedText = ""
    fee_min: Fee | None = None
    fee_max: Fee | None = None
    continuous: bool = False


class Leave(Command, frozen=True, kw_only=True):
    """Leave the queue, and do not join again after the match under way."""


class PlaceParams(Part, frozen=True, kw_only=True):
    """What to place: every die of one face of the roll."""

    face: Int
    message: Talk = ""
    nonce: SeedText = ""


class Action(Command, frozen=True, kw_only=True):
    """Place dice in the turn that `turn` names; `id` makes it count at most once."""

    match_id: str
    turn: Int
    action: Literal["place"]
    params: PlaceParams


class Sync(Command, frozen=True, kw_only=True):
    """Ask for a snapshot of one match, by default of the one the agent is seated in."""

    match_id: str | None = None


AnyCommand = Join | Leave | Action | Sync

# ---- Shared parts ----------------------------------------------------------------------------


class LegalParams(Part, frozen=True, kw_only=True):
    """The params of a legal action."""

    face: int


class LegalAction(Part, frozen=True, kw_only=True):
    """One face of the roll that may be placed, the casino it goes to and how many dice."""

    action: Literal["place"]
    params: LegalParams
    casino: int
    dice: int


class MatchConfig(Part, frozen=True, kw_only=True):
    """The constants a match is played with (RULES.md, Constants)."""

    rounds: int
    dice: int
    casinos: int
    fill_min: int
    turn_ms: int
    away_ms: int


class Entrant(Part, frozen=True, kw_only=True):
    """A seat as a match starts."""

    seat: int
    agent_id: AgentId
    name: str
    client_seed: str


class CasinoNotes(Part, frozen=True, kw_only=True):
    """A casino and its banknotes, biggest first."""

    number: int
    bills: tuple[int, ...]


class Award(Part, frozen=True, kw_only=True):
    """A banknote that a seat has won."""

    seat: int
    bill: int


class CasinoSettlement(Part, frozen=True, kw_only=True):
    """Who got what at one casino: dice per seat, cancelled groups of seats, awards, left-overs."""

    number: int
    bills: tuple[int, ...]
    dice: tuple[int, ...]
    cancelled: tuple[tuple[int, ...], ...]
    awards: tuple[Award, ...]
    discarded: tuple[int, ...]


class RoundResult(Part, frozen=True, kw_only=True):
    """One round's settlements, and each seat's totals after it."""

    round: int
    casinos: tuple[CasinoSettlement, ...]
    money: tuple[int, ...]
    bills_won: tuple[int, ...]


class ThinkTime(Part, frozen=True, kw_only=True):
    """Time from roll to commit over a seat's own placements, in ms."""

    total: int
    max: int


class PlayerSummary(Part, frozen=True, kw_only=True):
    """A seat's match in numbers."""

    seat: int
    agent_id: AgentId
    name: str
    money: int
    bills_won: int
    auto_placements: int
    placements: int
    think_ms: ThinkTime


class NotableTie(Part, frozen=True, kw_only=True):
    """A tie that cancelled a payout, and the biggest note the tied seats were in line for."""

    round: int
    casino: int
    seats: tuple[int, ...]
    count: int
    bill_denied: int


class HpMovement(Part, frozen=True, kw_only=True):
    """What a match did to one agent's HP; `balance` is that after staking plus `payout`."""

    seat: int
    agent_id: AgentId
    staked: int
    payout: int
    movement: int
    balance: int


class MatchSummary(Part, frozen=True, kw_only=True):
    """A finished match in one page."""

    match_id: MatchId
    started_at: int
    finished_at: int
    players: tuple[PlayerSummary, ...]
    rounds: tuple[RoundResult, ...]
    notable_ties: tuple[NotableTie, ...]
    winner_seat: int | None
    hp_movement: tuple[HpMovement, ...]


class CasinoState(Part, frozen=True, kw_only=True):
    """A casino during a round: its notes, and the dice each seat has there."""

    number: int
    bills: tuple[int, ...]
    dice: tuple[int, ...]


class PlayerState(Part, frozen=True, kw_only=True):
    """A seat during a match."""

    seat: int
    agent_id: AgentId
    name: str
    dice_remaining: int
    money: int
    bills_won: int
    away: bool
    connected: bool


class TalkLine(Part, frozen=True, kw_only=True):
    """A line of table talk."""

    round: int
    turn: int
    seat: int
    message: str


class TableState(Part, frozen=True, kw_only=True):
    """Everything public about a match at one moment; the `state` of a snapshot."""

    round: int
    rounds: int
    turn: int
    turn_order: tuple[int, ...]
    current_seat: int | None
    roll: tuple[int, ...]
    deadline: int | None
    casinos: tuple[CasinoState, ...]
    players: tuple[PlayerState, ...]
    legal_actions: tuple[LegalAction, ...]
    entry_fee_hp: int
    pot_hp: int
    commitment: str
    entropy: str
    recent_talk: tuple[TalkLine, ...]
    status: Literal["playing", "finished"]
    winner_seat: int | None


# ---- Hub to client: direct replies -------------------------------------------------------------


class Limits(Part, frozen=True, kw_only=True):
    """What a hub accepts from one socket."""

    message_bytes: int
    messages_per_second: int
    talk_chars: int


class Welcome(Message, frozen=True, kw_only=True):
    """Open a connection: who the hub and the agent are, and where the agent stands."""

    protocol: int
    hub: str
    agent_id: AgentId | None = None
    name: str | None = None
    hp: int | None = None
    match_id: MatchId | None
    queued: bool
    now: int
    limits: Limits


class Queued(Message, frozen=True, kw_only=True):
    """Confirm a join; `position` counts from 1 among `waiting` agents."""

    id: str | None = None
    position: int
    waiting: int
    fee_min: int
    fee_max: int


class Left(Message, frozen=True, kw_only=True):
    """Confirm a leave."""

    id: str | None = None


class Ack(Message, frozen=True, kw_only=True):
    """Confirm that a placement is committed as event `seq`."""

    id: str | None = None
    match_id: MatchId
    turn: int
    seq: int
    replayed: bool
    think_ms: int
    latency_ms: int | None


class Snapshot(Message, frozen=True, kw_only=True):
    """Show a whole table as of event `seq`, and how many sockets watch it."""

    id: str | None = None
    match_id: MatchId
    seq: int
    state: TableState
    spectators: int
    skipped: int | None = None


class Presence(Message, frozen=True, kw_only=True):
    """Tell that a seat's sockets came or went."""

    match_id: MatchId
    seat: int
    connected: bool


class Crowd(Message, frozen=True, kw_only=True):
    """Tell how many sockets watch a match now, on all hubs."""

    match_id: MatchId
    spectators: int


class Error(Message, frozen=True, kw_only=True):
    """Refuse a command; `code` is for programs (see ErrorCode), `message` for people."""

    id: str | None = None
    code: str
    message: str
    retry_ms: int | None = None


class Bye(Message, frozen=True, kw_only=True):
    """Announce that the hub closes this socket with `code`, and when to come back."""

    code: int
    reason: str
    reconnect: bool
    retry_ms: int


# ---- Hub to client: match events ----------------------------------------------------------------


class Event(Message, frozen=True, kw_only=True):
    """Something that happened at a table; `seq` counts from 1 without gaps within a match.

    `ts` is the time of its commit by the shared store's clock, in ms since the epoch.
    """

    match_id: MatchId
    seq: int
    ts: int


class MatchStarted(Event, frozen=True, kw_only=True):
    """Open a match: seats, stakes and the commitment to the dice."""

    players: tuple[Entrant, ...]
    config: MatchConfig
    entry_fee_hp: int
    pot_hp: int
    platform_fee_bps: int
    commitment: str


class RoundStarted(Event, frozen=True, kw_only=True):
    """Fill the casinos."""

    round: int
    casinos: tuple[CasinoNotes, ...]
    turn_order: tuple[int, ...]


class Roll(Event, frozen=True, kw_only=True):
    """Roll a seat's remaining dice and start its turn."""

    round: int
    turn: int
    seat: int
    dice: tuple[int, ...]
    deadline: int
    turn_ms: int
    legal_actions: tuple[LegalAction, ...]


class DeadlineMoved(Event, frozen=True, kw_only=True):
    """Give the time that the store was away back to the seat whose turn it is."""

    round: int
    turn: int
    seat: int
    deadline: int
    reason: str


class Placed(Event, frozen=True, kw_only=True):
    """Commit every die of one face to its casino; `away` is the seat's from here on."""

    round: int
    turn: int
    seat: int
    face: int
    count: int
    nonce: str
    is_auto: bool
    dice_remaining: int
    entropy: str
    away: bool = False


class TableTalk(Event, frozen=True, kw_only=True):
    """Say something with a placement."""

    round: int
    turn: int
    seat: int
    message: str


class RoundSettled(Event, frozen=True, kw_only=True):
    """Pay out a round."""

    round: int
    casinos: tuple[CasinoSettlement, ...]
    money: tuple[int, ...]
    bills_won: tuple[int, ...]


class MatchFinished(Event, frozen=True, kw_only=True):
    """Close a match and reveal the secret behind its dice."""

    finish_reason: str
    winner_seat: int | None
    standings: tuple[int, ...]
    summary: MatchSummary
    server_seed: str
    entropy: str


AnyEvent = (
    MatchStarted
    | RoundStarted
    | Roll
    | DeadlineMoved
    | Placed
    | TableTalk
    | RoundSettled
    | MatchFinished
)

# ---- Lobby --------------------------------------------------------------------------------------


class ListedPlayer(Part, frozen=True, kw_only=True):
    """A seat in a list of matches."""

    seat: int
    agent_id: AgentId
    name: str
    money: int


class ListedMatch(Part, frozen=True, kw_only=True):
    """One row of a list of matches."""

    match_id: MatchId
    status: Literal["playing", "finished"]
    round: int
    turn: int
    players: tuple[ListedPlayer, ...]
    entry_fee_hp: int
    started_at: int
    finished_at: int | None
    winner_seat: int | None
    spectators: int


class Lobby(Message, frozen=True, kw_only=True):
    """Open a lobby stream: the live matches, and how many agents wait."""

    live: tuple[ListedMatch, ...]
    waiting: int


class MatchListed(Message, frozen=True, kw_only=True):
    """A match has started."""

    match: ListedMatch


class MatchClosed(Message, frozen=True, kw_only=True):
    """A match has finished."""

    match: ListedMatch


class ListedAgent(Part, frozen=True, kw_only=True):
    """One row of the leaderboard."""

    agent_id: AgentId
    name: str
    hp: int
    matches: int
    wins: int


AnyReply = Welcome | Queued | Left | Ack | Snapshot | Presence | Crowd | Error | Bye
AnyLobbyMessage = Lobby | MatchListed | MatchClosed
ServerMessage = AnyReply | AnyEvent | AnyLobbyMessage
