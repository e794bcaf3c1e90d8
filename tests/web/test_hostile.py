"""Names and talk that mean harm are text, and stay where they belong."""

from playwright.async_api import Page, expect

from hub.app import Hub
from tests.clients import url

from .conftest import MakePage
from .drivers import seat

IMAGE = "<img src=x onerror=alert(1)>"
OVERRIDE = "\u202e\u2066evil\u202a name"
EMOJI = "🎲" * 32
WIDE = "W" * 32
TALK = [IMAGE, "🎰" * 140, "\u202e\u2066 sdrawkcab", "a" * 140]


async def open_hostile_match(hub: Hub, page: Page) -> None:
    async with seat(url(hub, ""), names=[IMAGE, OVERRIDE, EMOJI, WIDE], talk=TALK) as drivers:
        await drivers.finish()
    await page.goto(url(hub, f"/#/match/{drivers.match_id}", "http"))
    await expect(page.locator(".summary-result")).to_be_visible()  # as its last moment is


async def test_names_and_talk_are_shown_as_text(hub: Hub, page: Page) -> None:
    await open_hostile_match(hub, page)
    names = await page.locator(".standing .name").all_text_contents()
    assert sorted(names) == sorted([IMAGE, OVERRIDE, EMOJI, WIDE])
    assert set(await page.locator(".talk .message").all_text_contents()) == set(TALK)
    assert await page.locator("img").count() == 0


async def test_overrides_of_writing_direction_end_with_the_name(hub: Hub, page: Page) -> None:
    await open_hostile_match(hub, page)
    styles = await page.locator(".name, .message").evaluate_all(
        "elements => elements.map(each => getComputedStyle(each).unicodeBidi)"
    )
    assert set(styles) == {"isolate"}


async def test_long_names_and_talk_keep_a_phone_in_its_width(hub: Hub, make_page: MakePage) -> None:
    page = await make_page(viewport={"width": 360, "height": 740})
    await open_hostile_match(hub, page)
    assert await page.evaluate("document.documentElement.scrollWidth") == 360
