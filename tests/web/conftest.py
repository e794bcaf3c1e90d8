"""A real browser that looks at a real hub, and fails a test for what a page complains of."""

import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from playwright.async_api import Browser, ConsoleMessage, Page, async_playwright, expect

PATIENCE_MS = 30_000  # for what is bound to happen; a machine that is busy takes its time
expect.set_options(timeout=PATIENCE_MS)

MakePage = Callable[..., Awaitable[Page]]

NAMES = ("chromium", "chromium-browser", "google-chrome")  # as distributions call it

SWITCHES = (
    "--no-sandbox",  # which Chromium can't have as root, as in containers
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

# Reported once a violation, before any script of the page runs.
WATCH_POLICY = """
    document.addEventListener("securitypolicyviolation", (event) => {
        console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`);
    });
"""


@pytest.fixture(scope="session")
def chromium() -> str:
    """Find the system's Chromium."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.fail("No Chromium was found. On Debian or Ubuntu: apt install chromium")
    return found


@pytest.fixture
async def browser(chromium: str) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=SWITCHES)
        yield browser
        await browser.close()


@pytest.fixture
async def make_page(browser: Browser) -> AsyncIterator[MakePage]:
    """Open pages; whatever one of them complains of fails the test, but for `expected`."""
    complaints: list[str] = []

    async with AsyncExitStack() as exits:

        async def make(*, expected: str | None = None, **options: Any) -> Page:
            def note(complaint: str) -> None:
                if expected is None or expected not in complaint:
                    complaints.append(complaint)

            def note_message(message: ConsoleMessage) -> None:
                if message.type in {"error", "warning"}:
                    note(message.text)

            context = await browser.new_context(**options)
            exits.push_async_callback(context.close)
            await context.add_init_script(WATCH_POLICY)
            page = await context.new_page()
            page.on("console", note_message)
            page.on("pageerror", lambda error: note(str(error)))
            return page

        yield make
    assert complaints == []


@pytest.fixture
async def page(make_page: MakePage) -> Page:
    return await make_page()
