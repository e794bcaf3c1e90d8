"""A match: live, at its end, and at any moment of it."""

import json
from collections import Counter, defaultdict
from typing import Any

from playwright.async_api import Page, expect

from hub.app import Hub
from tests.clients import dial, fetch, url

from .conftest import MakePage
from .drivers import seat

# What the page shows of the casinos: each seat's number of dice, and whether they are struck out.
READ_BOARD = """cards => cards.map(card => [...card.querySelectorAll(".lane")].map(
    lane => [lane.querySelectorAll(".die").length, lane.classList.contains("is-tied")]))"""


async def board(hub: Hub, match_id: str) -> list[list[list[Any]]]:
    """Read from the hub what the page should show."""
    async with dial(hub, f"/watch/{match_id}") as socket:
        casinos = (await socket.receive())["state"]["casinos"]
    return [
        [[count, count > 0 and casino["dice"].count(count) > 1] for count in casino["dice"]]
        for casino in casinos
    ]


async def test_a_live_table_is_drawn_as_it_stands(hub: Hub, page: Page) -> None:
    async with seat(url(hub, "")) as drivers:
        await drivers.play(9)
        await page.goto(url(hub, f"/#/match/{drivers.match_id}", "http"))
        await expect(page.locator(".felt .headline")).to_contain_text("rolls")
        shown = await page.locator(".casino").evaluate_all(READ_BOARD)
        assert shown == await board(hub, drivers.match_id)


async def test_a_live_table_follows_the_match(hub: Hub, page: Page) -> None:
    async with seat(url(hub, "")) as drivers:
        await page.goto(url(hub, f"/#/match/{drivers.match_id}", "http"))
        await expect(page.locator(".progress")).to_contain_text("turn 1 ")
        await drivers.play(5)
        await expect(page.locator(".progress")).to_contain_text("turn 6 ")
        shown = await page.locator(".casino").evaluate_all(READ_BOARD)
        assert shown == await board(hub, drivers.match_id)


async def test_a_turn_shows_its_roll_and_the_time_left(hub: Hub, page: Page) -> None:
    async with seat(url(hub, "")) as drivers:
        await page.goto(url(hub, f"/#/match/{drivers.match_id}", "http"))
        async with dial(hub, f"/watch/{drivers.match_id}") as socket:
            roll = (await socket.receive())["state"]["roll"]
        await expect(page.locator(".groups .die")).to_have_count(len(roll))
        await expect(page.get_by_role("timer")).to_contain_text("8")  # 8x s of 90 are left


async def test_table_talk_and_events_are_listed(hub: Hub, page: Page) -> None:
    async with seat(url(hub, ""), talk=["Feeling lucky."]) as drivers:
        await drivers.play(2)
        await page.goto(url(hub, f"/#/match/{drivers.match_id}", "http"))
        await expect(page.locator(".talk .message")).to_have_text(["Feeling lucky."] * 2)
        await expect(page.locator(".event.is-placed")).to_have_count(2)


async def test_how_many_watch_is_shown_and_kept_up_to_date(hub: Hub, make_page: MakePage) -> None:
    first, second = await make_page(), await make_page()
    async with seat(url(hub, "")) as drivers:
        await first.goto(url(hub, f"/#/match/{drivers.match_id}", "http"))
        await expect(first.get_by_text("1 watching")).to_be_visible()
        await second.goto(url(hub, f"/#/match/{drivers.match_id}", "http"))
        await expect(first.get_by_text("2 watching")).to_be_visible()
        await expect(second.get_by_text("2 watching")).to_be_visible()
        await second.close()
        await expect(first.get_by_text("1 watching")).to_be_visible()


async def test_a_page_that_is_loaded_again_knows_how_many_watch(hub: Hub, page: Page) -> None:
    """The number stays the same, so the stream does not tell."""
    async with seat(url(hub, "")) as drivers:
        await page.goto(url(hub, f"/#/match/{drivers.match_id}", "http"))
        await expect(page.get_by_text("1 watching")).to_be_visible()
        await page.reload()
        await expect(page.get_by_text("1 watching")).to_be_visible()


async def test_a_finished_match_is_summed_up(hub: Hub, page: Page) -> None:
    async with seat(url(hub, "")) as drivers:
        await drivers.finish()
    await page.goto(url(hub, f"/#/match/{drivers.match_id}", "http"))
    await expect(page.locator(".stage .winner")).to_be_visible()
    await expect(page.locator(".summary-result tbody tr")).to_have_count(4)
    await expect(page.locator(".summary-result .is-gain")).to_have_text("+30")
    await expect(page.locator(".summary-round")).to_have_count(4)
    await expect(page.locator(".chart polyline")).to_have_count(4)


async def test_the_slider_goes_to_any_moment(hub: Hub, page: Page) -> None:
    async with seat(url(hub, "")) as drivers:
        await drivers.finish()
    await page.goto(url(hub, f"/#/match/{drivers.match_id}", "http"))
    slider = page.get_by_role("slider")
    await expect(page.locator(".stage .winner")).to_be_visible()
    await slider.fill("2")
    await expect(page.locator(".progress")).to_contain_text("Round 1 of 4 · turn 1 ")
    await expect(page.locator(".lane:not(.is-empty)")).to_have_count(0)
    await slider.fill(await slider.get_attribute("max") or "")
    await expect(page.locator(".stage .winner")).to_be_visible()


async def test_a_link_leads_to_a_moment_and_back(hub: Hub, page: Page) -> None:
    async with seat(url(hub, "")) as drivers:
        await drivers.finish()
    await page.goto(url(hub, f"/#/match/{drivers.match_id}/4", "http"))
    await expect(page.locator(".lane:not(.is-empty)")).to_have_count(1)  # event 4: the first placed
    await page.get_by_role("button", name="One step on").click()
    await expect(page).to_have_url(url(hub, f"/#/match/{drivers.match_id}/5", "http"))


async def test_a_replay_plays_by_keyboard_alone(hub: Hub, page: Page) -> None:
    async with seat(url(hub, "")) as drivers:
        await drivers.finish()
    await page.goto(url(hub, f"/#/match/{drivers.match_id}/1", "http"))
    await expect(page.locator(".headline")).to_contain_text("about to start")
    await page.get_by_role("button", name="Play", exact=True).focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Pause")).to_be_focused()
    await expect(page.locator(".progress")).to_contain_text("turn 2 ")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Play", exact=True)).to_be_focused()


async def first_tie(hub: Hub, match_id: str) -> int:
    """Find the first placement after which another seat has as many dice at the same casino."""
    log = await fetch(hub, f"/api/matches/{match_id}/events?format=ndjson")
    dice: defaultdict[tuple[int, int], Counter[int]] = defaultdict(Counter)
    for event in map(json.loads, log.body.splitlines()):
        if event["type"] == "placed":
            here = dice[event["round"], event["face"]]
            here[event["seat"]] += event["count"]
            if list(here.values()).count(here[event["seat"]]) > 1:
                return int(event["seq"])
    raise AssertionError("four rounds without a tie")


async def test_a_tie_is_told_as_it_arises(hub: Hub, page: Page) -> None:
    async with seat(url(hub, "")) as drivers:
        await drivers.finish()
    seq = await first_tie(hub, drivers.match_id)
    await page.goto(url(hub, f"/#/match/{drivers.match_id}/{seq}", "http"))
    await expect(page.locator(".headline")).to_contain_text("A tie with")
    await expect(page.locator(".lane.is-tied")).to_have_count(2)


async def test_a_settlement_is_paid_casino_by_casino(hub: Hub, page: Page) -> None:
    async with seat(url(hub, "")) as drivers:
        await drivers.finish()
    await page.goto(url(hub, f"/#/match/{drivers.match_id}", "http"))
    await page.get_by_title("Go to round 2").click()
    back = page.get_by_role("button", name="One step back")
    await back.click()
    await expect(page.locator(".headline")).to_contain_text("Round 1 is over.")
    for number in range(6, 0, -1):
        await back.click()
        await expect(page.locator(".casino.is-paying h3")).to_have_text(f"Casino {number}")
    await back.click()
    await expect(page.locator(".casino.is-paying")).to_have_count(0)


async def test_an_unknown_match_is_said_to_be_unknown(hub: Hub, make_page: MakePage) -> None:
    page = await make_page(expected="404")  # Chromium reports every failed request
    await page.goto(url(hub, "/#/match/nosuch", "http"))
    await expect(page.get_by_role("heading", name="There is no such match")).to_be_visible()
