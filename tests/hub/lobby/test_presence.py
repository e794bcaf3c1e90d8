import asyncio
import random

import pytest

from hub.rules.table import list_row
from hub.store.lobby import Member, Party
from protocol.messages import (
    AgentId,
    Error,
    ErrorCode,
    Lobby,
    MatchClosed,
    MatchId,
    MatchListed,
    Message,
)
from tests.store.conftest import MakeParts
from tests.store.parts import (
    AGENTS,
    PATIENCE_SECONDS,
    SEED,
    Heard,
    Parts,
    Viewer,
    create,
    new_match,
    until,
)
from tests.store.valkey import OwnValkey

ANA, BO, CY, DEE = AGENTS


class Socket(Heard):
    """An agent's socket that keeps what the hall says to it."""

    def __init__(self, agent_id: AgentId) -> None:
        super().__init__()
        self.agent_id = agent_id
        self.messages: list[Message] = []
        self.seats: list[MatchId] = []

    def send(self, message: Message) -> None:
        self.messages.append(message)
        self.grow()

    def seat(self, match_id: MatchId) -> None:
        self.seats.append(match_id)
        self.grow()

    async def seated(self, times: int = 1) -> None:
        """Wait until it was told of a seat that often in all."""
        while len(self.seats) < times:
            await self.grown()

    async def told(self, count: int = 1) -> list[Message]:
        """Wait for that many messages in all."""
        while len(self.messages) < count:
            await self.grown()
        return self.messages


class Watcher(Socket):
    """A lobby spectator that keeps what the hall says to it."""

    def __init__(self) -> None:
        super().__init__(AgentId("nobody"))


async def opened(make_parts: MakeParts, **options: int) -> Parts:
    """Open a hub's hall."""
    parts = make_parts(**options)
    await parts.listen()
    await parts.hall.open()
    return parts


async def enter(parts: Parts, *agents: AgentId) -> list[Socket]:
    sockets = [Socket(agent_id) for agent_id in agents]
    for socket in sockets:
        await parts.hall.enter(socket, socket.agent_id.title())
    return sockets


async def watch(parts: Parts) -> Watcher:
    watcher = Watcher()
    parts.hall.arrive(watcher)
    await watcher.told()
    return watcher


async def follow(parts: Parts, match_id: MatchId) -> Viewer:
    table = await parts.relay.open(match_id)
    assert table is not None
    viewer = Viewer()
    await parts.relay.follow(table, viewer, None)
    return viewer


async def seat_of(parts: Parts, match_id: MatchId, agent_id: AgentId) -> int:
    players = (await parts.match(match_id)).players
    return [player.agent_id for player in players].index(agent_id)


async def wait_until_connected(parts: Parts, agent_id: AgentId, connected: bool) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await parts.lobby.connected([agent_id]) != [connected]:
            pass


# ---- Leases


async def test_an_agent_is_connected_while_a_socket_of_it_is_open(make_parts: MakeParts) -> None:
    parts = await opened(make_parts)
    first, second = await enter(parts, ANA, ANA)
    await parts.hall.leave(first)
    assert await parts.lobby.connected([ANA]) == [True]
    await parts.hall.leave(second)
    assert await parts.lobby.connected([ANA]) == [False]


async def test_a_hub_that_lives_renews_its_word(make_parts: MakeParts) -> None:
    parts = await opened(make_parts, presence_ms=60)
    await enter(parts, ANA)
    parts.run(parts.hall.run())
    words: list[bytes] = []
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(words) < 4:
            until_ms = await parts.link.call("ZSCORE", parts.keys.presence(ANA), parts.id)
            words += [until_ms] if until_ms not in {None, *words} else []
    assert words == sorted(words)


async def test_a_hub_that_is_dead_does_not(make_parts: MakeParts) -> None:
    parts = await opened(make_parts, presence_ms=20)
    await enter(parts, ANA)
    await wait_until_connected(parts, ANA, False)


async def test_a_dead_hub_s_agents_can_not_be_seated(make_parts: MakeParts) -> None:
    dead, alive = await opened(make_parts, presence_ms=20), await opened(make_parts)
    await enter(dead, ANA)
    await dead.join(ANA)
    for agent_id in (BO, CY, DEE):
        await alive.join(agent_id)
    await wait_until_connected(alive, ANA, False)
    await alive.matchmaker.sweep()
    assert await alive.lobby.seats(AGENTS) == [None] * 4
    await alive.hall.enter(Socket(ANA), "Ana")
    await alive.matchmaker.sweep()
    assert None not in await alive.lobby.seats(AGENTS)


async def test_leases_are_renewed_again_after_the_store_was_away(
    valkey: OwnValkey, make_parts: MakeParts
) -> None:
    parts = make_parts(url=valkey.url, presence_ms=60)
    await enter(parts, ANA)
    parts.run(parts.hall.run())
    valkey.kill()
    await until(lambda: not parts.link.up)
    valkey.start()
    await until(lambda: parts.link.up)
    await wait_until_connected(parts, ANA, True)


# ---- Presence


async def test_players_see_one_another_come_and_go(make_parts: MakeParts) -> None:
    here, there = [await opened(make_parts) for _ in range(2)]
    (socket, *_) = await enter(there, *AGENTS)
    match_id = await there.seat()
    seat = await seat_of(there, match_id, ANA)
    for agent_id in AGENTS:  # the queueing had let them in at this hub, too
        await there.lobby.enter(agent_id, agent_id, there.id)
    viewer = await follow(here, match_id)
    await there.hall.leave(socket)
    await viewer.see_presence(seat, False)
    await enter(here, ANA)
    await viewer.see_presence(seat, True)
    assert viewer.presence == [(seat, False), (seat, True)]


async def test_an_agent_with_a_socket_at_another_hub_has_not_gone(make_parts: MakeParts) -> None:
    here, there = [await opened(make_parts) for _ in range(2)]
    (socket,) = await enter(there, ANA)
    match_id = await there.seat()
    await enter(here, ANA)
    viewer = await follow(here, match_id)
    await there.hall.leave(socket)
    seat = await seat_of(here, match_id, BO)
    await here.lobby.vouch(BO, there.id, connected=False)
    await here.lobby.announce(BO, match_id, seat)
    await viewer.see_presence(seat, False)
    assert viewer.presence == [(seat, False)]


@pytest.mark.parametrize("hubs", [1, 2])
async def test_an_agent_that_comes_back_at_once_is_seen_to_be_connected(
    make_parts: MakeParts, hubs: int
) -> None:
    """Leaving one hub and entering it, or another, overlap in any way."""
    chance = random.Random(hubs)
    halls = [await opened(make_parts) for _ in range(hubs)]
    (socket,) = await enter(halls[0], ANA)
    match_id = await halls[0].seat()
    seat = await seat_of(halls[0], match_id, ANA)
    viewers = [await follow(hall, match_id) for hall in halls]
    hall = halls[0]

    async def come(hall: Parts, socket: Socket) -> None:
        for _ in range(chance.randrange(5)):
            await asyncio.sleep(0)
        await hall.hall.enter(socket, "Ana")

    for _ in range(60):
        next_hall, next_socket = chance.choice(halls), Socket(ANA)
        await asyncio.gather(hall.hall.leave(socket), come(next_hall, next_socket))
        hall, socket = next_hall, next_socket
        assert await hall.lobby.connected([ANA]) == [True]
    await hall.lobby.vouch(BO, halls[0].id, connected=False)
    bo_seat = await seat_of(hall, match_id, BO)
    await hall.lobby.announce(BO, match_id, bo_seat)
    for viewer in viewers:
        await viewer.see_presence(bo_seat, False)
        assert (dict(viewer.presence).get(seat, True)) is True


async def test_leaving_while_the_store_is_away_is_no_error(
    valkey: OwnValkey, make_parts: MakeParts
) -> None:
    parts = make_parts(url=valkey.url)
    (socket,) = await enter(parts, ANA)
    valkey.kill()
    await parts.hall.leave(socket)
    valkey.start()


# ---- Seats


async def test_sockets_on_all_hubs_learn_of_their_seats(make_parts: MakeParts) -> None:
    hubs = [await opened(make_parts) for _ in range(2)]
    sockets = [*await enter(hubs[0], ANA, BO), *await enter(hubs[1], BO, CY, DEE)]
    (eve,) = await enter(hubs[1], AgentId("eve"))
    match_id = await hubs[0].seat()
    for socket in sockets:
        await socket.seated()
    assert [socket.seats for socket in sockets] == [[match_id]] * 5
    assert eve.seats == []


async def test_an_agent_learns_where_it_stands_as_it_enters(make_parts: MakeParts) -> None:
    parts = await opened(make_parts)
    await enter(parts, *AGENTS)
    match_id = await parts.seat()
    standing = await parts.hall.enter(Socket(ANA), "Ana")
    assert (standing.hp, standing.match_id, standing.queued) == (990, match_id, False)


async def formed_by_a_dead_hub(parts: Parts) -> MatchId:
    """Create a match that nobody has been told of yet."""
    for agent_id in AGENTS:
        await parts.join(agent_id)
    match_id = MatchId("m1")
    party = Party(10, tuple(Member(agent_id, agent_id.title(), "") for agent_id in AGENTS))
    tickets = [each.ticket for each in await parts.lobby.waiting()]
    assert await parts.lobby.form(match_id, party, tickets)
    await parts.tables.commit(*new_match(match_id), server_seed=SEED)
    return match_id


async def test_seats_that_were_taken_while_the_feed_was_broken_are_found(
    make_parts: MakeParts,
) -> None:
    here, there = [await opened(make_parts) for _ in range(2)]
    sockets = await enter(here, *AGENTS)
    match_id = await formed_by_a_dead_hub(there)
    match = await there.match(match_id)
    await there.cut_feed(here, there.lobby.formed(list_row(match)))
    for socket in sockets:
        await socket.seated()
    assert [socket.seats for socket in sockets] == [[match_id]] * 4


async def test_agents_that_can_not_pay_any_more_are_told(make_parts: MakeParts) -> None:
    parts = await opened(make_parts)
    sockets = await enter(parts, *AGENTS)
    match_id = await parts.seat(fee=600, continuous=True)
    await parts.play_out(match_id)
    await parts.clock.tick()
    winner = (await parts.match(match_id)).winner_seat
    losers = [
        socket for socket in sockets if await seat_of(parts, match_id, socket.agent_id) != winner
    ]
    for loser in losers:
        (error,) = await loser.told()
        assert isinstance(error, Error)
        assert error.code == ErrorCode.INSUFFICIENT_HP


# ---- Lobby spectators


async def test_a_spectator_is_shown_the_lobby(make_parts: MakeParts) -> None:
    parts = await opened(make_parts)
    match_id = await parts.seat()
    await parts.join(AgentId("eve"))
    watcher = await watch(parts)
    rows = tuple(await parts.hall.rows([match_id]))
    assert watcher.messages == [Lobby(live=rows, waiting=1)]
    assert rows == (list_row(await parts.match(match_id)),)


async def test_a_spectator_sees_matches_start_and_end(make_parts: MakeParts) -> None:
    here, there = [await opened(make_parts) for _ in range(2)]
    watcher = await watch(here)
    match_id = await there.seat()
    started = await there.match(match_id)
    await there.play_out(match_id)
    await there.clock.tick()
    ended = await there.match(match_id)
    last = (await there.events(match_id))[-1]
    assert (await watcher.told(3))[1:] == [
        MatchListed(match=list_row(started)),
        MatchClosed(match=list_row(ended, finished_at=last.ts)),
    ]


async def test_a_spectator_is_shown_the_lobby_again_after_the_feed_was_broken(
    make_parts: MakeParts,
) -> None:
    here, there = [await opened(make_parts) for _ in range(2)]
    watcher = await watch(here)
    match_id = await formed_by_a_dead_hub(there)
    listed = list_row(await there.match(match_id))
    await there.cut_feed(here, there.lobby.formed(listed))
    messages = await watcher.told(2)
    assert messages == [Lobby(live=(), waiting=0), Lobby(live=(listed,), waiting=0)]


async def test_rows_of_unknown_matches_are_left_out(make_parts: MakeParts) -> None:
    parts = await opened(make_parts)
    match = await create(parts.tables)
    rows = await parts.hall.rows([MatchId("none"), match.match_id])
    assert rows == [list_row(match)]
