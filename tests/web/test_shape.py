"""Every page on every screen: no sideways scrolling, reachable by keyboard, quiet if asked."""

import pytest
from playwright.async_api import Page, expect

from hub.app import Hub
from tests.clients import url

from .conftest import MakePage
from .drivers import seat

WIDTHS = (360, 768, 1024, 1440, 1920)


@pytest.mark.parametrize("path", ["/", "/#/leaderboard", "/#/agent/agent-1", "/#/match/{}"])
async def test_no_page_scrolls_sideways(hub: Hub, page: Page, path: str) -> None:
    async with seat(url(hub, "")) as drivers:
        await drivers.finish()
    await page.goto(url(hub, path.format(drivers.match_id), "http"))
    await expect(page.locator("main")).to_contain_text("Bo")  # agent-1
    for width in WIDTHS:
        await page.set_viewport_size({"width": width, "height": 900})
        assert await page.evaluate("document.documentElement.scrollWidth") == width


async def test_the_keyboard_reaches_the_content_first_and_then_all_of_it(
    hub: Hub, page: Page
) -> None:
    async with seat(url(hub, "")) as drivers:
        await page.goto(url(hub, "/", "http"))
        await expect(page.locator(f'li[data-id="{drivers.match_id}"]')).to_be_visible()
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page.locator("main")).to_be_focused()
        await page.locator("a.card").first.focus()
        await page.keyboard.press("Enter")
        await expect(page).to_have_url(url(hub, f"/#/match/{drivers.match_id}", "http"))
        await expect(page.locator("main")).to_be_focused()


async def test_nothing_moves_for_those_who_prefer_that(hub: Hub, make_page: MakePage) -> None:
    page = await make_page(reduced_motion="reduce")
    async with seat(url(hub, "")) as drivers:
        await page.goto(url(hub, f"/#/match/{drivers.match_id}", "http"))
        await expect(page.locator(".progress")).to_contain_text("turn 1 ")
        await drivers.play(2)
        await expect(page.locator(".progress")).to_contain_text("turn 3 ")
        assert await page.evaluate("document.getAnimations().length") == 0


async def test_what_happens_is_announced(hub: Hub, page: Page) -> None:
    async with seat(url(hub, "")) as drivers:
        await page.goto(url(hub, f"/#/match/{drivers.match_id}", "http"))
        await expect(page.locator(".progress")).to_contain_text("turn 1 ")
        await drivers.play(1)
        await expect(page.locator('[aria-live="polite"]')).to_contain_text("rolls")
