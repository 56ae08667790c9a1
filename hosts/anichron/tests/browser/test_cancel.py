"""Cancelling: queued items at once, running ones when their worker has heard, finished ones not at all."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from hosts.anichron.tests.browser.system import System
from hosts.anichron.tests.browser.view import (
    LONG,
    cancel,
    detail,
    expect_live,
    expect_status,
    open_item,
    row,
    sign_in,
)
from hosts.anichron.tests.process.program import rows

pytestmark = pytest.mark.timeout(180)

STATUS = "select status from treadle.work_items where id = %(id)s"


def test_a_queued_item_is_cancelled_at_once(page: Page, system: System) -> None:
    item, other = system.queue(), system.queue()
    system.api()
    sign_in(page, system)
    expect_live(page)
    opened = open_item(page, item)
    cancel(page, "Cancel the item")
    expect(opened).to_have_attribute("data-status", "cancelled")
    expect(opened.get_by_text("Cancelled: it never ran.")).to_be_visible()
    assert rows(system.dsn, STATUS, {"id": item}) == [("cancelled",)]
    page.keyboard.press("Escape")
    expect_status(page, item, "cancelled")
    expect_status(page, other, "queued")


def test_a_running_crawl_stops_and_leaves_what_it_had_done(page: Page, system: System, album: Path) -> None:
    system.add_folder(album)
    system.api()
    sign_in(page, system)
    expect_live(page)
    system.worker()
    running = page.locator('.rows .row[data-status="running"]').filter(has_text="crawl")
    expect(running).to_be_visible(timeout=LONG)
    item = (running.get_attribute("id") or "").removeprefix("row-")
    opened = open_item(page, item)
    cancel(page, "Ask it to stop")
    expect(opened).to_have_attribute("data-status", "cancelled", timeout=LONG)
    steps = opened.locator(".steps .title")
    expect(steps).to_have_text(["Requested", "Delivered", "Stopped"])
    expect(opened.locator(".outcome .badge.partial")).to_have_text("partial")
    expect(opened.locator(".json")).to_contain_text("complete: ")
    ((done, assets),) = rows(
        system.dsn,
        "select (result->>'imported')::int, (select count(*)::int from anichron.media_assets)"
        " from treadle.work_items where id = %(id)s",
        {"id": item},
    )
    assert done == assets
    assert isinstance(done, int)
    assert done < len(list(album.rglob("*.jpg")))
    page.keyboard.press("Escape")
    expect_status(page, item, "cancelled")
    expect(row(page, item).get_by_text("partial")).to_be_visible()


def test_a_finished_item_is_not_cancelled_and_the_page_says_why(page: Page, system: System) -> None:
    system.api()
    sign_in(page, system)
    expect_live(page)
    system.worker()
    done = page.locator('.rows .row[data-status="succeeded"]').filter(has_text="token-cleanup")
    expect(done).to_be_visible(timeout=LONG)
    item = (done.get_attribute("id") or "").removeprefix("row-")
    opened = open_item(page, item)
    cancel(page, "Cancel the item")
    expect(opened.get_by_text("Not cancelled: It has already ended: succeeded.")).to_be_visible()
    expect(detail(page)).to_have_attribute("data-status", "succeeded")
    assert rows(system.dsn, STATUS, {"id": item}) == [("succeeded",)]
