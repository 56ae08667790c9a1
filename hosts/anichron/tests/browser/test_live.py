"""Watching work: a crawl of real photos moves, through reloads, cut connections and processes that are away."""

import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, Request, expect

from hosts.anichron.tests.browser.line import Line
from hosts.anichron.tests.browser.system import System
from hosts.anichron.tests.browser.view import (
    LONG,
    connection,
    detail,
    expect_live,
    expect_status,
    open_item,
    row,
    sign_in,
    tab,
)
from hosts.anichron.tests.process.program import rows

pytestmark = pytest.mark.timeout(240)

CRAWL = "select id from treadle.work_items where kind = 'crawl'"
ENDED = "select count(*) = 1 from treadle.work_items where kind = 'crawl' and status = 'succeeded'"


def test_a_crawl_of_real_photos_moves_and_goes_on_moving_after_a_reload(
    page: Page, system: System, real_album: Path
) -> None:
    system.add_folder(real_album)
    system.api()
    sign_in(page, system)
    expect_live(page)
    expect(page.get_by_text("No work yet")).to_be_visible()
    system.worker()
    running = page.locator('.rows .row[data-status="running"]').filter(has_text="crawl")
    expect(running).to_be_visible(timeout=LONG)
    item = (running.get_attribute("id") or "").removeprefix("row-")
    before = shares(page, item, count=3)
    page.reload()
    after = shares(page, item, count=3)
    assert before == sorted(before)
    assert after == sorted(after)
    assert before[-1] <= after[0]
    expect_status(page, item, "succeeded")
    expect(tab(page, "Succeeded")).to_contain_text("3")
    opened = open_item(page, item)
    photos = len(list(real_album.iterdir()))
    ((imported,),) = rows(system.dsn, "select count(*) from anichron.media_assets")
    expect(opened.locator(".json")).to_contain_text(f"found: {photos}")
    expect(opened.locator(".json")).to_contain_text(f"imported: {imported}")
    assert imported


def shares(page: Page, item: str, *, count: int) -> list[int]:
    """The first so many different percentages that the row's progress bar shows."""
    bar = row(page, item).get_by_role("progressbar")
    expect(bar).to_have_attribute("aria-valuenow", re.compile(r"\d+"), timeout=LONG)
    seen: list[int] = []
    while len(seen) < count:
        shown = bar.get_attribute("aria-valuenow")
        assert shown is not None
        if int(shown) not in seen:
            seen.append(int(shown))
        page.wait_for_timeout(50)
    return seen


def test_a_cut_connection_comes_back_and_what_happened_meanwhile_with_it(page: Page, system: System) -> None:
    early = [system.queue() for _ in range(3)]
    system.api()
    resumed: list[str | None] = []
    lists: list[str] = []

    def note(request: Request) -> None:
        if "/events" in request.url:
            resumed.append(request.all_headers().get("last-event-id"))
        elif "/admin/work-items?" in request.url:
            lists.append(request.url)

    with Line(system.port) as line:
        page.on("request", note)
        sign_in(page, system, port=line.port)
        expect_live(page)
        for item in early:
            expect_status(page, item, "queued")
        first = system.queue()  # so that a tick with an id has come
        expect_status(page, first, "queued")

        line.cut()
        expect(connection(page)).to_have_attribute("data-state", "waiting", timeout=LONG)
        expect(connection(page)).to_contain_text("Reconnecting")
        cancelled, deleted, untouched = early
        rows(system.dsn, "select treadle.cancel_work_item(%(id)s)", {"id": cancelled})
        rows(system.dsn, "delete from treadle.work_items where id = %(id)s returning id", {"id": deleted})
        fresh = system.queue()
        line.restore()

        expect_live(page)
        expect_status(page, fresh, "queued")
        expect_status(page, cancelled, "cancelled")
        expect_status(page, deleted, "gone")
        expect_status(page, untouched, "queued")
    assert resumed[-1], "it resumes from the last event"
    assert len(lists) == 1, "nothing was read anew"


def test_while_the_api_is_away_work_goes_on_and_shows_when_it_is_back(
    page: Page, system: System, album: Path
) -> None:
    api = system.api()
    sign_in(page, system)
    expect_live(page)
    assert api.stop() == 0, api.output
    expect(connection(page)).to_have_attribute("data-state", "waiting", timeout=LONG)
    system.add_folder(album)
    system.worker(WORKER__MAX_CONCURRENT_FILES=4)
    system.await_true(ENDED, seconds=120)
    system.await_true(
        "select count(*) = 2 from treadle.work_items where status = 'succeeded'"
        " and kind in ('token-cleanup', 'work-item-retention')"
    )
    system.api()
    expect_live(page)
    expect_status(page, system.one(CRAWL), "succeeded")
    expect(page.locator(".rows .row")).to_have_count(3)


def test_without_a_worker_items_are_listed_streamed_and_cancelled_and_the_page_says_who_is_missing(
    page: Page, system: System, album: Path
) -> None:
    config = system.add_folder(album)
    worker = system.worker(WORKER__MAX_CONCURRENT_FILES=4)
    system.await_true(ENDED, seconds=120)
    worker.stop()
    system.await_true(
        "select not exists (select from treadle.workers where seen_at > clock_timestamp() - interval '15 s')"
    )
    system.api()
    sign_in(page, system)
    expect_live(page)
    expect_status(page, system.one(CRAWL), "succeeded")
    waiting = system.queue(scope=config)
    expect_status(page, waiting, "queued")
    opened = open_item(page, waiting)
    expect(opened.get_by_text("No worker is alive.")).to_be_visible()
    opened.locator("button.cancel").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel the item").click()
    expect(opened).to_have_attribute("data-status", "cancelled")
    assert rows(system.dsn, "select status from treadle.work_items where id = %(id)s", {"id": waiting}) == [
        ("cancelled",)
    ]
    page.keyboard.press("w")
    expect(page.get_by_text("No worker is alive").or_(page.get_by_text("not heard of since"))).to_be_visible()


def test_a_stream_that_is_open_does_not_delay_the_end_of_the_api(page: Page, system: System) -> None:
    api = system.api()
    sign_in(page, system)
    expect_live(page)
    before = time.monotonic()
    assert api.stop() == 0, api.output
    assert time.monotonic() - before < 4
    assert "Traceback" not in api.output
    expect(connection(page)).to_have_attribute("data-state", "waiting", timeout=LONG)
    assert detail(page).count() == 0
