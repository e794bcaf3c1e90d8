import asyncio

import pytest

from hub.loops import FEW, PORTIONS, spread
from hub.store.wire import Wire
from protocol.messages import AgentId
from tests.hub.lobby.test_presence import Socket, follow
from tests.store.conftest import MakeParts
from tests.store.parts import create

MANY = 3 * FEW + 1


async def portions(count: int, seconds: float) -> list[list[int]]:
    return [list(few) async for few in spread(range(count), seconds)]


@pytest.mark.parametrize("count", [0, 1, FEW, FEW + 1, MANY])
async def test_each_item_comes_once_and_few_at_a_time(count: int) -> None:
    found = await portions(count, 0)
    assert [each for few in found for each in few] == list(range(count))
    assert all(0 < len(few) <= FEW for few in found)


@pytest.mark.parametrize("count", [FEW * PORTIONS, FEW * PORTIONS + 1, 1_000_000])
async def test_the_portions_are_not_too_many(count: int) -> None:
    found = await portions(count, 0)
    assert sum(map(len, found)) == count
    assert len(found) <= PORTIONS


async def test_others_get_on_between_the_portions() -> None:
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count_turns())
    await asyncio.sleep(0)
    seen = [turns async for _ in spread(range(MANY), 0)]
    counting.cancel()
    assert len(set(seen)) == len(seen) == 4


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note how many commands each write to the store has."""
    noted: list[int] = []

    def note(wire: Wire, packed: list[bytes]) -> None:
        noted.append(len(packed))
        send(wire, packed)

    send = Wire.send
    monkeypatch.setattr(Wire, "send", note)
    return noted


async def test_leases_are_renewed_few_at_a_time(make_parts: MakeParts, writes: list[int]) -> None:
    parts = make_parts(presence_ms=300)
    agents = [AgentId(f"agent-{number}") for number in range(MANY)]
    for agent in agents:
        await parts.hall.enter(Socket(agent), agent)
    await parts.lobby.vouch(agents[0], parts.hall.hub_id, connected=True)  # loads the script
    writes.clear()
    parts.run(parts.hall.run())
    while sum(writes) < MANY:  # noqa: ASYNC110 - nothing tells of it
        await asyncio.sleep(0.01)
    assert max(writes) <= FEW


async def test_presence_is_looked_at_few_tables_at_a_time(
    make_parts: MakeParts, writes: list[int]
) -> None:
    parts = make_parts()
    await parts.listen()
    for _ in range(MANY):
        await parts.relay.open((await create(parts.tables)).match_id)
    writes.clear()
    await parts.relay.check_presence(0)
    assert writes == [4 * FEW] * 3 + [4]


async def test_a_finished_table_is_not_looked_at(make_parts: MakeParts, writes: list[int]) -> None:
    parts = make_parts()
    await parts.listen()
    match_id = (await create(parts.tables)).match_id
    viewer = await follow(parts, match_id)
    await parts.play_out(match_id)
    await viewer.end()
    writes.clear()
    await parts.relay.check_presence(0)
    assert writes == []
