"""The page's modules reproduce what RULES.md and the hub's own code say."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.async_api import Page

from hub.app import Hub
from protocol.client.table import apply
from protocol.codec import decode_event
from tests.clients import url

from .drivers import seat

VECTORS = Path(__file__).parents[1] / "vectors"

# Each takes a case's input and returns what the vectors say comes out.
COMPUTE = {
    "settle_casino": """async ({ bills, dice }) => {
        const { settleCasino } = await import("/web/rules.js");
        const { cancelled, awards, discarded } = settleCasino(1, bills, dice);
        return { cancelled, awards, discarded };
    }""",
    "standings": """async ({ money, bills_won }) =>
        (await import("/web/rules.js")).standings(money, bills_won)""",
    "auto_place": """async ({ dice }) => (await import("/web/rules.js")).autoFace(dice)""",
    "turn_order": """async ({ seats, round }) =>
        (await import("/web/rules.js")).turnOrder(seats, round)""",
    "hp_movement": """async ({ entry_fee, seats, winner_seat, platform_fee_bps }) =>
        (await import("/web/rules.js")).hpMovement({
            seats, entryFee: entry_fee, winner: winner_seat, feeBps: platform_fee_bps })""",
    "randomness": """async ({ server_seed, match_id, client_seeds, agents, placements }) => {
        const f = await import("/web/fairness.js");
        const seed = f.fromHex(server_seed);
        const fair = await f.Fairness.of(seed);
        const entropy = [await f.openingEntropy(match_id, client_seeds)];
        for (const placed of placements) entropy.push(await f.nextEntropy(entropy.at(-1), placed));
        return {
            commitment: await f.commitment(seed),
            seats: await fair.seating(match_id, agents),
            entropy: entropy.map(f.toHex),
            casinos_round_1: await fair.deal(entropy[0], 1, 6, 50000),
            casinos_round_2_after_placements: await fair.deal(entropy.at(-1), 2, 6, 50000),
            roll_turn_1_of_8: await fair.roll(entropy[0], 1, 8),
            roll_turn_2_of_8: await fair.roll(entropy[1], 2, 8),
            roll_turn_3_of_5: await fair.roll(entropy[2], 3, 5),
        };
    }""",
}


@pytest.mark.parametrize("name", COMPUTE)
async def test_the_vectors_are_reproduced(hub: Hub, page: Page, name: str) -> None:
    cases = json.loads((VECTORS / f"{name}.json").read_bytes())["cases"]
    await page.goto(url(hub, "/", "http"))
    made = await page.evaluate(
        f"async (cases) => Promise.all(cases.map({COMPUTE[name]}))", [case["in"] for case in cases]
    )
    assert made == [case["out"] for case in cases]


async def test_every_event_leads_to_the_state_that_clients_have(hub: Hub, page: Page) -> None:
    async with seat(url(hub, ""), talk=["", "Ha."]) as drivers:
        await drivers.finish()
    await page.goto(url(hub, "/", "http"))
    log, made = await page.evaluate(
        """async (id) => {
            const { fetchLog } = await import("/web/api.js");
            const { applyEvent } = await import("/web/state.js");
            const log = await fetchLog(id);
            let state = null;
            return [log, log.map((event) => (state = applyEvent(state, event)))];
        }""",
        drivers.match_id,
    )
    state = None
    for event, shown in zip(log, made, strict=True):
        state = apply(state, decode_event(json.dumps(event).encode(), "json"))
        expected: dict[str, Any] = json.loads(msgspec.json.encode(state))
        assert {**expected, **shown} == {**expected, "turn_ms": shown["turn_ms"]}


async def test_an_unknown_event_type_is_ignored_but_counted(hub: Hub, page: Page) -> None:
    async with seat(url(hub, "")) as drivers:
        await drivers.play(1)
    await page.goto(url(hub, "/", "http"))
    made = await page.evaluate(
        """async (id) => {
            const { fetchLog } = await import("/web/api.js");
            const { MatchLog } = await import("/web/log.js");
            const [started, dealt, rolled] = await fetchLog(id);
            const log = new MatchLog(id, () => {});
            log.take(started);
            log.take({ type: "fireworks", match_id: id, seq: 2, ts: started.ts });
            log.take({ ...dealt, seq: 3 });
            log.take({ ...rolled, seq: 4 });
            return [log.seq, log.frames.map((frame) => frame.event.type)];
        }""",
        drivers.match_id,
    )
    assert made == [4, ["match_started", "round_started", "roll"]]


async def test_events_that_a_slow_spectator_was_spared_are_read_from_the_log(
    hub: Hub, page: Page
) -> None:
    async with seat(url(hub, "")) as drivers:
        await drivers.play(4)
        await page.goto(url(hub, "/", "http"))
        made = await page.evaluate(
            """async (id) => {
                const { fetchLog } = await import("/web/api.js");
                const { MatchLog } = await import("/web/log.js");
                const events = await fetchLog(id);
                return new Promise((resolve) => {
                    const log = new MatchLog(id, () => {
                        if (log.seq >= 9) resolve(log.events.map((event) => event.seq));
                    });
                    log.take(events[0]);
                    log.take({ type: "snapshot", match_id: id, seq: 9, skipped: 8, state: {} });
                });
            }""",
            drivers.match_id,
        )
    assert made == list(range(1, len(made) + 1))


async def test_what_was_before_the_stream_opened_is_not_played_however_late_it_is_read(
    hub: Hub, page: Page
) -> None:
    await page.goto(url(hub, "/", "http"))
    made = await page.evaluate(
        """async () => {
            const { HubClock } = await import("/web/clock.js");
            const clock = new HubClock();
            const openedAt = Date.now();
            clock.opened();
            Date.now = () => openedAt + 2000;
            return [openedAt - 1, openedAt + 1000].map((at) => clock.isFresh(at));
        }"""
    )
    assert made == [False, True]
