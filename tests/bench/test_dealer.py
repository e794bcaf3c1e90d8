"""The bench's own matches: real ones, whose size on the wire is known before they are sent."""

from hub.app import Hub
from scripts._bench.dealer import Dealer
from tests.clients import dial


async def test_a_spectator_gets_the_bytes_that_a_move_was_said_to_have(hub: Hub) -> None:
    dealer = Dealer(hub.tables)
    play = await dealer.open()
    async with dial(hub, f"/watch/{play.match_id}") as socket:
        await socket.until("snapshot")
        size = await dealer.move(play)
        await socket.until("roll")
    moved = [raw for raw, message in zip(socket.raw, socket.heard, strict=True) if "ts" in message]
    assert size == sum(len(raw) + (2 if len(raw) < 126 else 4) for raw in moved)


async def test_a_move_has_three_events(hub: Hub) -> None:
    play = await Dealer(hub.tables).open()
    events = play.next_move().events
    assert [type(event).__name__ for event in events] == ["TableTalk", "Placed", "Roll"]


async def test_a_table_that_was_moved_by_another_is_moved_all_the_same(hub: Hub) -> None:
    dealer = Dealer(hub.tables)
    play = await dealer.open()
    before = play.copy
    await dealer.move(play)
    after, play.copy = play.copy, before
    await dealer.move(play)
    assert play.copy.match.seq == after.match.seq + 3
