"""Hubs and their store end in every way while bots play, and nothing is lost."""

from signal import SIGKILL

from scripts._chaos.arena import Arena
from scripts._chaos.plan import Kind
from scripts._chaos.run import conclude
from scripts._chaos.verdict import Verdict, judge
from tests.chaos.conftest import OpenArena, finished_matches

DROPS: list[Kind] = ["sockets dropped"] * 20


async def suffer(arena: Arena, *kinds: Kind) -> Verdict:
    """Make faults one after the other while bots play, let them play on, and judge."""
    await finished_matches(arena, 1)
    for kind in kinds:
        await arena.faults.start(kind)
    return await play_on(arena)


async def play_on(arena: Arena) -> Verdict:
    """Let a match start and finish after all that was done, and judge."""
    await finished_matches(arena, len(arena.live.finished) + len(arena.live.seqs) + 1)
    return judge(await conclude(arena))


async def test_a_rolling_restart_of_three_hubs_costs_no_placement(arena: OpenArena) -> None:
    async with arena(hubs=3, turn_seconds=10.0, think_ms=20.0) as three:
        verdict = await suffer(three, "rolling restart")
    assert (verdict.troubles, verdict.hp_difference, verdict.autos_explained) == ([], 0, {})


async def test_killed_hubs_a_killed_store_cut_links_and_sockets_lose_nothing(
    arena: OpenArena,
) -> None:
    async with arena(turn_seconds=20.0) as two:
        verdict = await suffer(two, "hub killed", "store killed", "link cut", *DROPS)
    assert (verdict.troubles, verdict.hp_difference, verdict.autos_explained) == ([], 0, {})
    assert (len(verdict.first_moves), bool(verdict.failover)) == (1, True)


async def test_a_hub_that_ends_by_itself_is_found(arena: OpenArena) -> None:
    async with arena(spectators=0) as two:
        await finished_matches(two, 1)
        two.places[0].hub.signal(SIGKILL)
        verdict = await play_on(two)
    assert [(each.what, each.who) for each in verdict.troubles] == [("hub crashed", "hub 0")]
