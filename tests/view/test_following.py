"""The stream: live, lost, found again, and nothing missed in between."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Page, expect

from tests.view.fake_queue import FakeQueue, item_id
from tests.view.visiting import row, sign_in

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_the_stream_follows_from_the_state_of_the_list(page: Page, queue: FakeQueue) -> None:
    await sign_in(page, queue)
    assert (queue.seen_since, queue.seen_ids) == (["list-cursor"], [None])


async def test_a_cut_connection_resumes_from_the_last_completed_tick(page: Page, queue: FakeQueue) -> None:
    queue.add(1)
    await sign_in(page, queue)
    queue.tell(queue.change(item_id(1), status="running"), cursor="c1")
    queue.tell(queue.change(item_id(1), progress_done=5))  # no id: this tick was not completed
    await expect(row(page, 1)).to_contain_text("5 done")
    queue.cut()
    await queue.connected(2)
    assert queue.seen_ids == [None, "c1"]
    queue.tell(queue.change(item_id(1), status="succeeded", result={"n": 5}), cursor="c2")
    await expect(row(page, 1)).to_contain_text("Succeeded")
    await expect(page.locator("#connection")).to_have_text("Live")


async def test_while_the_server_is_away_the_page_counts_down_and_keeps_what_it_shows(
    page: Page, queue: FakeQueue
) -> None:
    queue.add(1)
    await sign_in(page, queue)
    queue.down = True
    queue.cut()
    await expect(page.locator("#connection")).to_contain_text(re.compile(r"Reconnecting in \d+s"))
    await expect(row(page, 1)).to_be_visible()
    queue.down = False
    await expect(page.locator("#connection")).to_have_text("Live", timeout=20_000)


async def test_somebody_who_does_not_want_to_wait_connects_at_once(page: Page, queue: FakeQueue) -> None:
    await sign_in(page, queue)
    queue.raw("retry: 600000\n\n")
    queue.cut()
    button = page.get_by_role("button", name="Reconnecting in")
    await expect(button).to_be_enabled()
    await button.click()
    await queue.connected(2)
    await expect(page.locator("#connection")).to_have_text("Live")


async def test_a_database_that_is_away_is_said_and_so_is_its_return(page: Page, queue: FakeQueue) -> None:
    await sign_in(page, queue)
    queue.say("status", database="away")
    await expect(page.locator("#connection")).to_have_text("Database away")
    queue.say("status", database="back")
    await expect(page.locator("#connection")).to_have_text("Live")


async def test_reload_reads_everything_anew_and_follows_from_there(page: Page, queue: FakeQueue) -> None:
    queue.add(1)
    await sign_in(page, queue)
    queue.tell(cursor="c1")
    queue.change(item_id(1), status="failed", error="while nobody told")
    queue.add(2)
    queue.say("reload", reason="epoch")
    await queue.connected(2)
    assert (queue.seen_since[-1], queue.seen_ids[-1]) == ("list-cursor", None)
    await expect(row(page, 1)).to_contain_text("while nobody told")
    await expect(row(page, 2)).to_be_visible()


async def test_a_token_that_expires_during_the_stream_is_renewed_and_nothing_is_missed(
    page: Page, queue: FakeQueue
) -> None:
    queue.add(1)
    await sign_in(page, queue)
    queue.tell(cursor="c7")
    await page.wait_for_timeout(1100)  # a stream that ends sooner is taken for a wrong clock
    queue.valid = set()
    queue.say("end", reason="expired")
    queue.change(item_id(1), status="running")
    await queue.connected(2)
    assert queue.seen_ids[-1] == "c7"
    assert queue.issued == 2
    queue.tell(queue.items[item_id(1)])
    await expect(row(page, 1)).to_contain_text("Running")


async def test_an_older_frame_does_not_undo_what_an_answer_has_shown(page: Page, queue: FakeQueue) -> None:
    old = dict(queue.add(1))
    await sign_in(page, queue)
    await page.keyboard.press("j")
    await page.keyboard.press("c")
    await page.get_by_role("button", name="Cancel the item").click()
    await expect(row(page, 1)).to_contain_text("Cancelled")
    queue.tell(old, queue.add(2))
    await expect(page.get_by_role("button", name="1 new")).to_be_visible()
    await expect(row(page, 1)).to_contain_text("Cancelled")
