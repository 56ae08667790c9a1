"""The list: what its rows say, what comes in by itself, and that nothing moves under a reader."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Page, expect

from tests.view.fake_queue import FakeQueue, item_id
from tests.view.visiting import kinds_shown, row, sign_in

pytestmark = pytest.mark.asyncio(loop_scope="session")
SCOPE = "019a3f00-0000-7000-8000-0000000a11ce"


async def test_a_running_item_shows_who_runs_it_and_how_far_it_is(page: Page, queue: FakeQueue) -> None:
    item = queue.add(1, kind="crawl", scope_id=SCOPE, requested_by=None, stalls=1, status="running")
    queue.change(item["id"], progress_done=250, progress_total=1000, progress_note="3 failed")
    await sign_in(page, queue)
    for words in (
        "Running",
        "crawl",
        "scheduled",
        "loft:1:a",
        "attempt 1",
        "1 stall",
        "250 of 1,000",
        "3 failed",
        "25%",
    ):
        await expect(row(page, 1)).to_contain_text(words)
    bar = row(page, 1).get_by_role("progressbar")
    await expect(bar).to_have_attribute("aria-valuenow", "25")
    await expect(bar).to_have_attribute("aria-valuetext", re.compile("25 percent, 250 of 1,000.*3 failed"))
    await expect(row(page, 1).locator(".asked time")).to_have_attribute(
        "title", re.compile(r"^2026-03-01 \d\d:\d\d:\d\d [+-]\d\d:\d\d$")
    )


async def test_progress_is_pushed_into_the_row_with_rate_and_time_left(page: Page, queue: FakeQueue) -> None:
    item = queue.add(1, status="running", progress_done=100, progress_total=1000)
    await sign_in(page, queue)
    for done in (110, 120, 130):
        queue.tell(queue.change(item["id"], progress_done=done), cursor=f"c{done}")
    await expect(row(page, 1)).to_contain_text("130 of 1,000")
    await expect(row(page, 1)).to_contain_text(re.compile(r"\d+\.\d/s · \d+ (s|min) left"))


async def test_without_a_total_the_bar_says_that_the_end_is_unknown(page: Page, queue: FakeQueue) -> None:
    queue.add(1, status="running", progress_done=1234, progress_note="walking")
    await sign_in(page, queue)
    bar = row(page, 1).get_by_role("progressbar")
    await expect(bar).not_to_have_attribute("aria-valuenow", re.compile(".*"))
    await expect(bar).to_have_attribute("aria-valuetext", re.compile("1,234 done.*walking"))
    await expect(row(page, 1)).to_contain_text("1,234 done")


async def test_new_rows_come_in_by_themselves_while_nobody_is_in_the_list(
    page: Page, queue: FakeQueue
) -> None:
    queue.add(1, kind="first")
    await sign_in(page, queue)
    queue.tell(queue.add(2, kind="second"))
    await expect(page.locator(".rows .row-link")).to_have_text(["second", "first"])


async def test_new_rows_wait_behind_a_bar_while_somebody_is_in_the_list(page: Page, queue: FakeQueue) -> None:
    queue.add(1, kind="first")
    await sign_in(page, queue)
    await page.keyboard.press("j")
    queue.tell(*(queue.add(number) for number in (2, 3, 4)))
    news = page.get_by_role("button", name="3 new")
    await expect(news).to_be_visible()
    assert await kinds_shown(page) == ["first"]
    await expect(row(page, 1).get_by_role("link")).to_be_focused()
    await news.click()
    await expect(page.locator(".rows .row")).to_have_count(4)
    await expect(row(page, 4).get_by_role("link")).to_be_focused()


async def test_a_scrolled_reader_sees_nothing_move(page: Page, queue: FakeQueue) -> None:
    for number in range(60):
        queue.add(number)
    await sign_in(page, queue)
    await page.mouse.wheel(0, 700)
    await page.wait_for_function("() => scrollY > 300")
    before = await row(page, 30).bounding_box()
    queue.tell(*(queue.add(number) for number in range(60, 65)), queue.change(item_id(35), status="running"))
    await expect(page.get_by_role("button", name="5 new")).to_be_visible()
    await expect(row(page, 35)).to_contain_text("Running")
    assert await row(page, 30).bounding_box() == before


async def test_a_row_that_leaves_the_tab_stays_and_says_so_until_reload(page: Page, queue: FakeQueue) -> None:
    for number in (1, 2):
        queue.add(number, status="running")
    await sign_in(page, queue, "?status=running")
    queue.tell(queue.change(item_id(2), status="succeeded"))
    await expect(row(page, 2)).to_contain_text("now succeeded")
    await expect(row(page, 2)).to_have_attribute("data-left", "yes")
    await page.reload()
    await expect(row(page, 1)).to_be_visible()
    await expect(row(page, 2)).to_have_count(0)


async def test_deleted_items_say_so(page: Page, queue: FakeQueue) -> None:
    queue.add(1)
    await sign_in(page, queue)
    queue.say("gone", ids=[item_id(1)])
    await expect(row(page, 1)).to_contain_text("Deleted")


async def test_tabs_count_filter_and_are_in_the_address(page: Page, queue: FakeQueue) -> None:
    queue.add(1, kind="one", status="failed", error="broken")
    queue.add(2, kind="two")
    queue.counts = {"succeeded": {"count": 1234567, "exact": False}}
    await sign_in(page, queue)
    tabs = page.get_by_role("navigation", name="Status")
    await expect(tabs.get_by_role("link", name="Succeeded")).to_contain_text("≈ 1.2M")
    await tabs.get_by_role("link", name="Failed").click()
    await expect(page).to_have_url(re.compile(r"\?status=failed$"))
    await expect(page.locator(".rows .row-link")).to_have_text(["one"])
    await expect(tabs.get_by_role("link", name="Failed")).to_have_attribute("aria-current", "page")
    await page.go_back()
    await expect(page.locator(".rows .row-link")).to_have_text(["two", "one"])
    await page.go_forward()
    await expect(page.locator(".rows .row-link")).to_have_text(["one"])


async def test_kind_and_scope_filter_and_are_in_the_address(page: Page, queue: FakeQueue) -> None:
    queue.add(1, kind="crawl", scope_id=SCOPE)
    queue.add(2, kind="crawl")
    queue.add(3, kind="resize", scope_id=SCOPE)
    await sign_in(page, queue)
    await page.get_by_label("Kind").fill("crawl")
    await page.keyboard.press("Enter")
    await expect(page.locator(".rows .row")).to_have_count(2)
    await page.get_by_label("Scope").fill("nonsense")
    await page.keyboard.press("Enter")
    await expect(page.locator(".filters [role=alert]")).to_have_text("A scope is a whole UUID.")
    await page.get_by_label("Scope").fill(SCOPE)
    await page.keyboard.press("Enter")
    await expect(page.locator(".rows .row")).to_have_count(1)
    await expect(page).to_have_url(re.compile(rf"\?kind=crawl&scope={SCOPE}$"))
    await page.reload()
    await expect(page.get_by_label("Scope")).to_have_value(SCOPE)
    await expect(page.locator(".rows .row")).to_have_count(1)
    await page.get_by_role("button", name="Clear filters").click()
    await expect(page.locator(".rows .row")).to_have_count(3)


async def test_changes_of_what_is_filtered_out_stay_out(page: Page, queue: FakeQueue) -> None:
    queue.add(1, kind="crawl")
    await sign_in(page, queue, "?kind=crawl")
    queue.tell(queue.add(2, kind="resize"), queue.add(3, kind="crawl"))
    await expect(page.locator(".rows .row")).to_have_count(2)
    await expect(row(page, 2)).to_have_count(0)


async def test_pages_are_loaded_by_cursor_without_repeating_or_skipping(page: Page, queue: FakeQueue) -> None:
    for number in range(260):
        queue.add(number)
    await sign_in(page, queue)
    await expect(page.locator(".rows .row")).to_have_count(50)
    queue.tell(queue.add(999))
    await expect(row(page, 999)).to_be_visible()
    for shown in (151, 251, 261):
        await page.get_by_role("button", name="Load more").click()
        await expect(page.locator(".rows .row")).to_have_count(shown)
    await expect(page.get_by_role("button", name="Load more")).to_be_hidden()
    ids = await page.locator(".rows .row").evaluate_all("rows => rows.map((row) => row.id.slice(4))")
    assert ids == sorted(queue.items, reverse=True)


@pytest.mark.timeout(240)
async def test_ten_thousand_items_are_paged_and_still_take_changes_in_place(
    page: Page, queue: FakeQueue
) -> None:
    for number in range(10_000):
        queue.add(number)
    await sign_in(page, queue)
    for shown in (*range(150, 10_000, 100), 10_000):
        await page.keyboard.press("m")
        await page.wait_for_function(
            "n => document.querySelector('.foot').textContent.startsWith(n)", arg=f"{shown:,} ", polling=50
        )
    await expect(page.locator(".foot")).to_contain_text("10,000 items, all there are")
    queue.tell(queue.change(item_id(0), status="failed", error="the last one"))
    await expect(row(page, 0)).to_contain_text("the last one")


async def test_empty_and_failing_lists_say_so_in_words(page: Page, queue: FakeQueue) -> None:
    await sign_in(page, queue)
    await expect(page.get_by_text("No work yet")).to_be_visible()
    await page.goto(queue.address + "?kind=none")
    await expect(page.get_by_text("No item matches")).to_be_visible()
    queue.add(1)
    await page.get_by_role("button", name="Clear filters").click()
    await expect(row(page, 1)).to_be_visible()
    queue.down = True
    await page.keyboard.press("Escape")
    await page.keyboard.press("1")
    await expect(page.get_by_role("alert").filter(has_text="the database is away")).to_be_visible()
    await expect(row(page, 1)).to_have_count(0)
    queue.down = False
    await page.get_by_role("button", name="Try again").click()
    await expect(row(page, 1)).to_be_visible()
    await expect(page.locator(".trouble")).to_be_hidden()


async def test_what_comes_from_the_database_is_never_markup(page: Page, queue: FakeQueue) -> None:
    evil = "<script>document.title='broken into'</script><img src=x onerror=\"document.title='broken into'\">"
    queue.add(
        1,
        kind=evil,
        requested_by=evil,
        claimed_by=evil,
        status="failed",
        error=evil,
        progress_note=evil,
        progress_done=1,
    )
    queue.add(2, kind=evil, status="succeeded", result={evil: [evil]})
    queue.events[item_id(1)] = [
        {"attempt": 1, "event": evil, "at": queue.items[item_id(1)]["updated_at"], "detail": evil}
    ]
    await sign_in(page, queue)
    await expect(row(page, 1)).to_contain_text(evil)
    for number in (1, 2):
        await page.goto(f"{queue.address}?item={item_id(number)}")
        await expect(page.get_by_role("heading", level=1)).to_have_text(evil)
        assert await page.locator("main script, main img").count() == 0
        assert "broken into" not in await page.title()


async def test_times_are_absolute_on_demand(page: Page, queue: FakeQueue) -> None:
    queue.add(1)
    await sign_in(page, queue)
    await page.get_by_role("button", name="Exact times").click()
    await expect(row(page, 1).locator(".asked time")).to_have_text(re.compile(r"^2026-03-01 \d\d:\d\d:\d\d$"))
