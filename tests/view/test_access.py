"""The page for those who use no mouse, no eyes, little light or a small screen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.view.fake_queue import FakeQueue, item_id
from tests.view.visiting import row, sign_in

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def serious_faults(page: Page) -> list[Any]:
    """What axe finds that keeps somebody from using the page."""
    source = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    await page.evaluate(f"() => {{ {source}; window.axe = window.axe ?? axe; }}")
    found = await page.evaluate("() => window.axe.run(document, {resultTypes: ['violations']})")
    return [
        (fault["id"], [node["html"][:200] for node in fault["nodes"]])
        for fault in found["violations"]
        if fault["impact"] in {"serious", "critical", "moderate"}
    ]


def work(queue: FakeQueue) -> None:
    """One item of each sort."""
    queue.add(1, status="succeeded", attempt=1, result={"n": 1})
    queue.add(2, status="failed", attempt=1, error="broken", progress_done=1, progress_total=3)
    queue.add(3, status="cancelled", attempt=1, result={"n": 1}, cancel_requested_at=queue.now.isoformat())
    queue.add(4, status="running", progress_done=3, progress_total=10, stalls=1)
    queue.add(5, status="running", progress_done=3)
    queue.add(6, requested_by=None)
    seen = queue.now.isoformat()
    queue.workers = [
        {
            "claimed_by": "loft",
            "kinds": ["crawl"],
            "scopes": None,
            "running": [],
            "started_at": seen,
            "seen_at": seen,
            "alive": True,
        }
    ]


async def the_list(page: Page) -> None:
    await expect(row(page, 6)).to_be_visible()


async def a_running_item(page: Page) -> None:
    await row(page, 4).get_by_role("link").click()
    await expect(page.get_by_role("heading", name="Timeline")).to_be_visible()


async def a_result(page: Page) -> None:
    await row(page, 3).get_by_role("link").click()
    await expect(page.locator(".json")).to_be_visible()


async def an_error(page: Page) -> None:
    await row(page, 2).get_by_role("link").click()
    await expect(page.locator("pre.error")).to_be_visible()


async def the_workers(page: Page) -> None:
    await page.keyboard.press("w")
    await expect(page.locator(".worker-card")).to_be_visible()


async def the_help(page: Page) -> None:
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()


async def the_question(page: Page) -> None:
    await page.keyboard.press("j")
    await page.keyboard.press("c")
    await expect(page.get_by_role("dialog")).to_be_visible()


async def a_lost_connection(page: Page) -> None:
    await page.keyboard.press("a")


PLACES = [
    the_list,
    a_running_item,
    a_result,
    an_error,
    the_workers,
    the_help,
    the_question,
    a_lost_connection,
]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("go", PLACES, ids=lambda go: go.__name__)
async def test_axe_finds_nothing(
    page: Page, queue: FakeQueue, go: Callable[[Page], Awaitable[None]], theme: Any
) -> None:
    work(queue)
    await page.emulate_media(color_scheme=theme)
    await sign_in(page, queue)
    await go(page)
    if go is a_lost_connection:
        queue.down = True
        queue.cut()
        await page.locator("#connection[data-state=waiting]").wait_for()
    assert await serious_faults(page) == []


async def test_axe_finds_nothing_in_the_sign_in_and_on_a_phone(page: Page, queue: FakeQueue) -> None:
    work(queue)
    await page.set_viewport_size({"width": 360, "height": 740})
    await page.goto(queue.address)
    await expect(page.get_by_role("dialog")).to_be_visible()
    assert await serious_faults(page) == []
    await sign_in(page, queue)
    assert await serious_faults(page) == []


async def test_nothing_is_wider_than_a_phone(page: Page, queue: FakeQueue) -> None:
    work(queue)
    await page.set_viewport_size({"width": 360, "height": 740})
    await sign_in(page, queue)
    for query in ("", f"?item={item_id(4)}", f"?item={item_id(3)}", "?view=workers"):
        await page.goto(queue.address + query)
        await page.locator("#connection[data-state=live]").wait_for()
        assert await page.evaluate("() => document.documentElement.scrollWidth") <= 360


async def test_the_keyboard_reaches_everything(page: Page, queue: FakeQueue) -> None:
    work(queue)
    await sign_in(page, queue)
    for key, number in (("j", 6), ("j", 5), ("ArrowDown", 4), ("k", 5), ("ArrowUp", 6), ("k", 6)):
        await page.keyboard.press(key)
        await expect(row(page, number).get_by_role("link")).to_be_focused()
    await page.keyboard.press("j")
    await page.keyboard.press("Enter")
    await expect(page.locator(".ident")).to_have_text(item_id(5))
    await page.keyboard.press("Escape")
    await expect(row(page, 5).get_by_role("link")).to_be_focused()
    await page.keyboard.press("/")
    await expect(page.get_by_label("Kind")).to_be_focused()
    await page.keyboard.type("jkc?")
    await expect(page.get_by_label("Kind")).to_have_value("jkc?")
    await page.get_by_label("Kind").fill("")
    await page.keyboard.press("Escape")
    await page.keyboard.press("4")
    await expect(page.locator(".rows .row")).to_have_count(1)


async def test_single_keys_can_be_turned_off(page: Page, queue: FakeQueue) -> None:
    work(queue)
    await sign_in(page, queue)
    await page.keyboard.press("?")
    await page.get_by_label("Single keys act").uncheck()
    await page.keyboard.press("Escape")
    await page.keyboard.press("4")
    await page.keyboard.press("j")
    await expect(page.locator(".rows .row")).to_have_count(6)
    assert await page.evaluate("() => document.activeElement.closest('.rows')") is None


async def test_the_focus_stays_on_its_row_while_rows_change(page: Page, queue: FakeQueue) -> None:
    work(queue)
    await sign_in(page, queue)
    await page.keyboard.press("j")
    await page.keyboard.press("j")
    queue.tell(*(queue.change(item_id(5), progress_done=done) for done in (4, 5)), queue.add(9))
    queue.tell(
        queue.change(item_id(5), status="succeeded", result={"n": 2}),
        queue.change(item_id(4), progress_done=4),
    )
    await expect(row(page, 5)).to_contain_text("Succeeded")
    await expect(row(page, 5).get_by_role("link")).to_be_focused()


async def test_changes_are_spoken_politely_and_seldom(page: Page, queue: FakeQueue) -> None:
    work(queue)
    await sign_in(page, queue)
    await page.evaluate(
        """() => {
            window.spoken = [];
            const region = document.getElementById("announcements");
            new MutationObserver(() => spoken.push(region.textContent)).observe(region, { childList: true });
        }"""
    )
    await page.keyboard.press("j")
    for number in range(20, 40):
        queue.tell(queue.add(number))
        await page.wait_for_timeout(100)
    await expect(page.get_by_role("button", name="20 new")).to_be_visible()
    await expect(page.locator("#announcements")).to_contain_text("20 new, not shown yet", timeout=8000)
    assert await page.evaluate("() => spoken.length") <= 3


async def test_the_theme_follows_the_system_until_one_is_chosen_and_kept(
    page: Page, queue: FakeQueue
) -> None:
    ground = "() => getComputedStyle(document.body).backgroundColor"
    await sign_in(page, queue)
    await page.emulate_media(color_scheme="light")
    light = await page.evaluate(ground)
    await page.emulate_media(color_scheme="dark")
    dark = await page.evaluate(ground)
    assert light != dark
    await page.get_by_role("button", name="Theme: system").click()
    assert await page.evaluate(ground) == light
    await page.reload()
    await expect(page.get_by_role("button", name="Theme: light")).to_be_visible()
    assert await page.evaluate(ground) == light


async def test_reduced_motion_is_honoured(page: Page, queue: FakeQueue) -> None:
    work(queue)
    await sign_in(page, queue)
    moving = "() => document.getAnimations().filter((a) => a.playState === 'running').length"
    assert await page.evaluate(moving) == 0
    await page.emulate_media(reduced_motion="no-preference")
    assert await page.evaluate(moving) > 0


async def test_print_shows_absolute_times(page: Page, queue: FakeQueue) -> None:
    work(queue)
    await sign_in(page, queue)
    await page.emulate_media(media="print")
    shown = await row(page, 6).locator(".asked time").evaluate("e => getComputedStyle(e, '::after').content")
    assert shown.startswith('"2026-03-01 ')
