"""One item in full."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.view.fake_queue import FakeQueue, item_id
from tests.view.visiting import row, sign_in

pytestmark = pytest.mark.asyncio(loop_scope="session")


def event(queue: FakeQueue, number: int, name: str, *, attempt: int = 1, detail: str | None = None) -> None:
    """Something exceptional, now."""
    queue.now += timedelta(seconds=1)
    told: dict[str, Any] = {"attempt": attempt, "event": name, "at": queue.now.isoformat(), "detail": detail}
    queue.events.setdefault(item_id(number), []).append(told)


async def test_the_timeline_tells_an_items_life_refused_writes_included(page: Page, queue: FakeQueue) -> None:
    item = queue.add(1, status="running")
    event(queue, 1, "stalled", detail="shed:1:b")
    queue.change(item["id"], status="queued", claimed_by=None, started_at=None, stalls=1)
    queue.change(item["id"], status="running")
    queue.change(item["id"], started_at=queue.now.isoformat())
    event(queue, 1, "refused", detail="shed:1:b")
    queue.now += timedelta(seconds=5)
    queue.change(item["id"], status="failed", error="no space left")
    await sign_in(page, queue, f"?item={item_id(1)}")
    await expect(page.locator(".timeline .title")).to_have_text(
        ["Requested", "Stalled, attempt 1", "Claimed, attempt 2", "Late write refused, attempt 1", "Failed"]
    )
    await expect(page.locator(".timeline .refused")).to_contain_text("shed:1:b")
    await expect(page.locator("pre.error")).to_have_text("no space left")


async def test_the_slot_of_a_cron_schedules_item_is_among_its_facts(page: Page, queue: FakeQueue) -> None:
    queue.add(1, slot="2026-03-01T03:00:00Z", requested_by=None)
    await sign_in(page, queue, f"?item={item_id(1)}")
    fact = page.locator(".fact").filter(has_text="Scheduled for")
    await expect(fact).to_contain_text("2026")
    queue.tell(queue.change(item_id(1), slot=None))
    await expect(fact).to_be_hidden()


async def test_a_result_is_shown_with_every_digit_and_partial_ones_say_so(
    page: Page, queue: FakeQueue
) -> None:
    queue.add(1, status="cancelled", attempt=1, result={"hash": 17293822569102704641, "parts": {"n": [1, 2]}})
    await sign_in(page, queue, f"?item={item_id(1)}")
    await expect(page.get_by_role("heading", name="Result partial")).to_be_visible()
    await expect(page.locator(".json")).to_contain_text("17293822569102704641")
    fold = page.locator(".json details details").first
    await fold.locator("summary").first.click()
    await expect(fold).not_to_have_attribute("open", "")


async def test_a_failed_item_keeps_its_last_progress(page: Page, queue: FakeQueue) -> None:
    queue.add(1, status="failed", error="broken", progress_done=3, progress_total=10)
    await sign_in(page, queue, f"?item={item_id(1)}")
    await expect(page.get_by_role("region", name="Last progress")).to_contain_text("3 of 10")
    await expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "30")


async def test_why_it_is_not_running_is_answered_in_words(page: Page, queue: FakeQueue) -> None:
    queue.add(1)
    queue.add(2, kind="crawl", status="running")
    queue.waiting[item_id(1)] = {
        "code": "workers_busy",
        "text": f"Each worker that could run it is busy: loft:1:a runs crawl {item_id(2)}. "
        "7 queued items come before it.",
        "ahead": 7,
        "ahead_exact": True,
        "workers": [{"claimed_by": "loft:1:a", "running": [{"id": item_id(2), "kind": "crawl"}]}],
    }
    await sign_in(page, queue, f"?item={item_id(1)}")
    why = page.get_by_role("region", name="Why is this not running?")
    await expect(why).to_contain_text("loft:1:a runs crawl")
    await expect(why).to_contain_text("7 queued items come before it.")
    await why.get_by_role("link").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("crawl")
    queue.waiting.clear()


async def test_a_queued_item_is_cancelled_after_a_question(page: Page, queue: FakeQueue) -> None:
    queue.add(1)
    await sign_in(page, queue, f"?item={item_id(1)}")
    await page.get_by_role("button", name="Cancel…").click()
    await page.get_by_role("button", name="Keep it").click()
    assert queue.items[item_id(1)]["status"] == "queued"
    await page.get_by_role("button", name="Cancel…").click()
    await page.get_by_role("button", name="Cancel the item").click()
    await expect(page.get_by_role("status").filter(has_text="Cancelled: it never ran.")).to_be_visible()
    await expect(page.locator(".steps .title")).to_have_text(["Requested", "Not delivered", "Stopped"])


async def test_a_running_items_cancel_is_drawn_as_it_goes(page: Page, queue: FakeQueue) -> None:
    queue.add(1, status="running", progress_done=5)
    await sign_in(page, queue, f"?item={item_id(1)}")
    await page.get_by_role("button", name="Cancel…").click()
    await page.get_by_role("button", name="Ask it to stop").click()
    steps = page.locator(".steps .title")
    await expect(steps).to_have_text(["Requested", "Delivering", "Stopping"])
    event(queue, 1, "cancel_delivered", detail="loft:1:a")
    await expect(steps).to_have_text(["Requested", "Delivered", "Stopping"])
    queue.now += timedelta(seconds=3)
    queue.tell(queue.change(item_id(1), status="cancelled", result={"done": 5}))
    await expect(steps).to_have_text(["Requested", "Delivered", "Stopped"])
    await expect(page.locator(".steps .step").last).to_contain_text("later")
    await expect(page.get_by_role("heading", name="Result partial")).to_be_visible()


async def test_a_run_that_ends_before_delivery_has_finished_anyway(page: Page, queue: FakeQueue) -> None:
    queue.add(1, status="running", cancel_requested_at=queue.now.isoformat())
    await sign_in(page, queue, f"?item={item_id(1)}")
    queue.tell(queue.change(item_id(1), status="succeeded", result={}))
    await expect(page.locator(".steps .title")).to_have_text(
        ["Requested", "Not delivered", "Finished anyway"]
    )


async def test_the_reason_why_a_finished_item_is_not_cancelled_is_shown(page: Page, queue: FakeQueue) -> None:
    queue.add(1, status="running")
    await sign_in(page, queue, f"?item={item_id(1)}")
    queue.change(item_id(1), status="succeeded", result={})  # nobody has told the page yet
    await page.keyboard.press("c")
    await page.get_by_role("button", name="Ask it to stop").click()
    await expect(page.locator(".reply")).to_have_text(
        "Not cancelled: It has already ended: succeeded. There is nothing left to cancel."
    )
    await expect(page.locator(".chip")).to_have_text("succeeded")


async def test_superseded_items_lead_to_the_one_that_took_over_and_back(page: Page, queue: FakeQueue) -> None:
    queue.add(1, status="cancelled", attempt=1, superseded_by=item_id(2))
    queue.add(2, kind="twin")
    event(queue, 1, "superseded")
    await sign_in(page, queue, f"?item={item_id(1)}")
    await page.locator(".timeline").get_by_role("link").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("twin")
    await page.go_back()
    await expect(page.locator(".ident")).to_have_text(item_id(1))


async def test_an_unknown_item_and_one_deleted_meanwhile_say_so(page: Page, queue: FakeQueue) -> None:
    queue.add(1)
    await sign_in(page, queue, f"?item={item_id(77)}")
    await expect(page.get_by_role("heading", name="No such item")).to_be_visible()
    await page.get_by_role("button", name="All items").click()
    await row(page, 1).get_by_role("link").click()
    await expect(page.locator(".ident")).to_have_text(item_id(1))
    queue.say("gone", ids=[item_id(1)])
    await expect(page.locator(".reply")).to_contain_text("deleted while you looked at it")


async def test_workers_say_when_they_were_last_seen_and_what_they_run(page: Page, queue: FakeQueue) -> None:
    queue.add(1, kind="crawl", status="running")
    seen = datetime.isoformat(queue.now)
    common = {"kinds": ["crawl", "resize"], "started_at": seen, "seen_at": seen}
    queue.workers = [
        {**common, "claimed_by": "gone:2:b", "scopes": [], "running": [], "alive": False},
        {**common, "claimed_by": "loft:1:a", "scopes": None, "running": [item_id(1)], "alive": True},
    ]
    await sign_in(page, queue)
    await page.get_by_role("link", name=re.compile("Workers 1")).click()
    cards = page.locator(".worker-card")
    await expect(cards.nth(0)).to_contain_text(
        re.compile("loft:1:a.*alive, seen .*every scope.*crawl.*resize", re.DOTALL)
    )
    await expect(cards.nth(1)).to_contain_text(re.compile("gone:2:b.*not heard of since", re.DOTALL))
    await cards.nth(0).get_by_role("link").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("crawl")
