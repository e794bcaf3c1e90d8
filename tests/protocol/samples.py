"""One message of every type of the protocol."""

from hub.rules.match import table_state
from protocol.messages import (
    Ack,
    Action,
    AgentId,
    AnyCommand,
    AnyEvent,
    Bye,
    Crowd,
    Error,
    Join,
    Leave,
    Left,
    Limits,
    ListedMatch,
    ListedPlayer,
    Lobby,
    MatchClosed,
    MatchId,
    MatchListed,
    Message,
    PlaceParams,
    Presence,
    Queued,
    ServerMessage,
    Snapshot,
    Sync,
    Welcome,
)
from tests.rules.matches import play

MATCH = MatchId("m0")
PLAYED = play()
STATE = table_state(PLAYED.states[5], [True, True, False, True])

COMMANDS: tuple[AnyCommand, ...] = (
    Join(id="j", client_seed="naïve", fee_min=0, fee_max=2**53, continuous=True),
    Leave(),
    Action(
        id="a",
        match_id=MATCH,
        turn=7,
        action="place",
        params=PlaceParams(face=3, message="all on three", nonce="n"),
    ),
    Sync(id="s", match_id=MATCH),
)

LISTED = ListedMatch(
    match_id=MATCH,
    status="playing",
    round=2,
    turn=30,
    players=(ListedPlayer(seat=0, agent_id=AgentId("ann"), name="Ann", money=90_000),),
    entry_fee_hp=10,
    started_at=1_700_000_000_000,
    finished_at=None,
    winner_seat=None,
    spectators=4,
)

REPLIES: tuple[ServerMessage, ...] = (
    Welcome(
        protocol=1,
        hub="hub-1",
        agent_id=AgentId("ann"),
        name="Ann",
        hp=1000,
        match_id=None,
        queued=False,
        now=1_700_000_000_000,
        limits=Limits(message_bytes=4096, messages_per_second=20, talk_chars=140),
    ),
    Queued(id="j", position=1, waiting=2, fee_min=10, fee_max=10),
    Left(id="l"),
    Ack(id="a", match_id=MATCH, turn=7, seq=20, replayed=False, think_ms=900, latency_ms=None),
    Snapshot(
        id="s", match_id=MATCH, seq=PLAYED.states[5].seq, state=STATE, spectators=2, skipped=3
    ),
    Presence(match_id=MATCH, seat=2, connected=False),
    Crowd(match_id=MATCH, spectators=12),
    Error(id="a", code="unavailable", message="send it again", retry_ms=500),
    Bye(code=1001, reason="the hub is stopping", reconnect=True, retry_ms=1200),
    Lobby(live=(LISTED,), waiting=3),
    MatchListed(match=LISTED),
    MatchClosed(match=LISTED),
)

EVENTS: tuple[AnyEvent, ...] = tuple({type(event): event for event in PLAYED.log}.values())


def of_type(message: Message) -> str:
    """Name a sample, for parametrized tests."""
    return str(message.__struct_config__.tag)
