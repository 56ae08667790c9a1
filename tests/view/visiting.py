"""What every visit of the page begins with."""

from __future__ import annotations

from playwright.async_api import Locator, Page

from tests.view.fake_queue import FakeQueue, item_id


async def sign_in(page: Page, queue: FakeQueue, query: str = "") -> None:
    """Open the view and sign in; the stream is live when this returns."""
    await page.goto(queue.address + query)
    await page.get_by_label("Name").fill("admin")
    await page.get_by_label("Password").fill("correct horse")
    await page.keyboard.press("Enter")
    await queue.connected()
    await page.locator("#connection[data-state=live]").wait_for()


def row(page: Page, number: int) -> Locator:
    """The row of an item."""
    return page.locator(f"#row-{item_id(number)}")


async def kinds_shown(page: Page) -> list[str]:
    """The rows' kinds, from top to bottom."""
    return await page.locator(".rows .row-link").all_inner_texts()
