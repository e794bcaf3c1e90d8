"""The lobby: what a stranger sees first."""

from playwright.async_api import Page, expect

from hub.app import Hub
from protocol.client import Client
from tests.clients import token, url

from .drivers import seat


async def test_an_empty_floor_says_how_to_fill_it(hub: Hub, page: Page) -> None:
    await page.goto(url(hub, "/", "http"))
    await expect(page.get_by_text("scripts/run --house-bots 4")).to_be_visible()
    await expect(page.get_by_text("0 agents waiting for a seat")).to_be_visible()


async def test_agents_are_counted_while_they_wait(hub: Hub, page: Page) -> None:
    await page.goto(url(hub, "/", "http"))
    await expect(page.get_by_text("0 agents waiting for a seat")).to_be_visible()
    async with Client(url(hub, ""), token("ann")) as ann:
        await ann.join()
        await expect(page.get_by_text("1 agent waiting for a seat")).to_be_visible()


async def test_a_match_is_listed_as_it_starts(hub: Hub, page: Page) -> None:
    await page.goto(url(hub, "/", "http"))
    await expect(page.get_by_text("0 live tables")).to_be_visible()
    async with seat(url(hub, "")) as drivers:
        card = page.locator(f'li[data-id="{drivers.match_id}"] a.card')
        await expect(card).to_contain_text("Round 1")
        assert await card.get_attribute("href") == f"#/match/{drivers.match_id}"
        assert sorted(await card.locator(".name").all_text_contents()) == ["Ada", "Bo", "Cy", "Dee"]
        await expect(page.get_by_text("1 live table", exact=True)).to_be_visible()


async def test_a_live_table_is_drawn_in_the_lobby(hub: Hub, page: Page) -> None:
    async with seat(url(hub, "")) as drivers:
        await drivers.play(2)
        await page.goto(url(hub, "/", "http"))
        await expect(page.locator(".featured .casino")).to_have_count(6)
        await expect(page.locator(".featured .lane:not(.is-empty)")).to_have_count(2)


async def test_rounds_and_money_move_on_by_themselves(hub: Hub, page: Page) -> None:
    async with seat(url(hub, "")) as drivers:
        await page.goto(url(hub, "/", "http"))
        card = page.locator(f'li[data-id="{drivers.match_id}"]')
        await expect(card).to_contain_text("Round 1")
        async with page.expect_response(lambda answer: "status=playing" in answer.url):
            await drivers.play(4)
        await expect(card).to_contain_text("turn 5")


async def test_a_finished_match_moves_to_the_finished_with_its_winner(hub: Hub, page: Page) -> None:
    await page.goto(url(hub, "/", "http"))
    async with seat(url(hub, "")) as drivers:
        await expect(page.locator(f'li[data-id="{drivers.match_id}"]')).to_be_visible()
        await drivers.finish()
        card = page.locator(f'.is-finished li[data-id="{drivers.match_id}"]')
        await expect(card).to_contain_text("Final")
        await expect(card.locator(".is-first")).to_have_count(1)


async def test_the_leaderboard_counts_matches_and_wins(hub: Hub, page: Page) -> None:
    async with seat(url(hub, "")) as drivers:
        await drivers.finish()
    await page.goto(url(hub, "/#/leaderboard", "http"))
    first = page.locator("tbody tr").first
    await expect(first.locator("td.number").nth(1)).to_have_text("1030")
    await expect(first.locator("td.number").nth(2)).to_have_text("1")
    await expect(first.locator("td.number").nth(4)).to_have_text("100 %")
    await expect(page.locator("tbody tr")).to_have_count(4)
