"""The Verify button: a fair match holds, a tampered log does not."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.async_api import Page, Route, expect

from hub.app import Hub
from tests.clients import url

from .drivers import seat

Log = list[dict[str, Any]]


async def finished_match(hub: Hub) -> str:
    async with seat(url(hub, ""), talk=["", "Ties hurt."]) as drivers:
        await drivers.finish()
    return drivers.match_id


async def verify(hub: Hub, page: Page, match_id: str) -> None:
    await page.goto(url(hub, f"/#/match/{match_id}", "http"))
    await page.get_by_role("button", name="Verify", exact=True).click()
    await expect(page.locator(".verify-headline")).to_be_visible()


async def test_a_fair_match_holds(hub: Hub, page: Page) -> None:
    await verify(hub, page, await finished_match(hub))
    await expect(page.locator(".verify-headline.is-ok")).to_contain_text("All of it holds")
    await expect(page.locator('.check[data-status="ok"]')).to_have_count(10)


def change_roll(log: Log) -> None:
    roll = next(event for event in log if event["type"] == "roll")
    roll["dice"][0] = roll["dice"][0] % 6 + 1


def change_notes(log: Log) -> None:
    log[1]["casinos"][0]["bills"] = [90_000, 90_000]


def change_seed(log: Log) -> None:
    log[-1]["server_seed"] = "00" * 32


def change_seats(log: Log) -> None:
    players = log[0]["players"]
    players[0]["agent_id"], players[1]["agent_id"] = players[1]["agent_id"], players[0]["agent_id"]


def change_nonce(log: Log) -> None:
    next(event for event in log if event["type"] == "placed")["nonce"] = "other"


def change_payout(log: Log) -> None:
    settled = next(event for event in log if event["type"] == "round_settled")
    settled["money"][0] += 10_000


def change_winner(log: Log) -> None:
    log[-1]["winner_seat"] = (log[-1]["winner_seat"] + 1) % 4


def drop_event(log: Log) -> None:
    del log[5]


def place_late(log: Log) -> None:
    placed = next(index for index, event in enumerate(log) if event["type"] == "placed")
    for event in log[placed:]:
        event["ts"] += 91_000


@pytest.mark.parametrize(
    ("tamper", "check"),
    [
        (change_roll, "rolls"),
        (change_notes, "notes"),
        (change_seed, "seed"),
        (change_seats, "seats"),
        (change_nonce, "entropy"),
        (change_payout, "settlements"),
        (change_winner, "winner"),
        (drop_event, "log"),
        (place_late, "placements"),
    ],
)
async def test_a_tampered_log_does_not_hold(
    hub: Hub, page: Page, tamper: Callable[[Log], None], check: str
) -> None:
    async def forge(route: Route) -> None:
        answer = await route.fetch()
        log = [json.loads(line) for line in (await answer.text()).splitlines()]
        tamper(log)
        await route.fulfill(response=answer, body="\n".join(map(json.dumps, log)))

    await page.route("**/events?format=ndjson", forge)
    await verify(hub, page, await finished_match(hub))
    await expect(page.locator(".verify-headline.is-failed")).to_contain_text("does not hold")
    failed = page.locator('.check[data-status="failed"]')
    assert await failed.evaluate_all("checks => checks.map(each => each.dataset.check)") == [check]
