"""Signing in and out, being refused, and staying signed in."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Page, expect

from tests.view.fake_queue import FakeQueue
from tests.view.visiting import row, sign_in
from treadle.admin.view import ProxySignIn, TokenSignIn

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_nothing_is_asked_for_before_somebody_signs_in(page: Page, queue: FakeQueue) -> None:
    await page.goto(queue.address)
    await expect(page.get_by_role("dialog", name="Sign in")).to_be_visible()
    await expect(page.get_by_label("Name")).to_be_focused()
    assert queue.requests == []


async def test_a_wrong_password_is_told_and_can_be_tried_again(page: Page, queue: FakeQueue) -> None:
    await page.goto(queue.address)
    await page.get_by_label("Name").fill("admin")
    await page.get_by_label("Password").fill("wrong")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("dialog").get_by_role("alert")).to_have_text("Name or password is wrong.")
    await page.get_by_label("Password").fill("correct horse")
    await page.keyboard.press("Enter")
    await expect(page.locator("#connection")).to_have_text("Live")
    await expect(page.locator("#who")).to_have_text("admin")


async def test_a_reload_stays_signed_in(page: Page, queue: FakeQueue) -> None:
    queue.add(1)
    await sign_in(page, queue)
    await page.reload()
    await expect(row(page, 1)).to_be_visible()
    assert await page.evaluate("[Object.keys(localStorage), document.cookie]") == [[], ""]


async def test_another_tab_needs_no_sign_in_of_its_own(page: Page, queue: FakeQueue) -> None:
    queue.add(1)
    await sign_in(page, queue)
    other = await page.context.new_page()
    await other.goto(queue.address)
    await expect(row(other, 1)).to_be_visible()
    await other.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_role("dialog", name="Sign in")).to_be_visible()


async def test_signing_out_revokes_and_forgets(page: Page, queue: FakeQueue) -> None:
    await sign_in(page, queue)
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_role("dialog", name="Sign in")).to_be_visible()
    await expect(page.locator("#connection")).to_have_text("Signed out")
    assert "logout refresh-1" in queue.requests
    assert await page.evaluate("Object.keys(sessionStorage)") == []


async def test_the_token_is_renewed_before_it_expires(page: Page, queue: FakeQueue) -> None:
    queue.expires_in = 2
    await sign_in(page, queue)
    await page.wait_for_function(
        "key => JSON.parse(sessionStorage[Object.keys(sessionStorage)[0]]).access !== key", arg="access-1"
    )
    assert queue.issued > 1


async def test_a_session_that_is_over_asks_again_and_goes_on_where_it_was(
    page: Page, queue: FakeQueue
) -> None:
    queue.add(1)
    await sign_in(page, queue)
    queue.tell(cursor="c3")
    await page.wait_for_timeout(100)
    queue.valid, queue.issued = set(), 5
    queue.cut()
    await expect(page.get_by_role("dialog", name="Sign in")).to_be_visible()
    await expect(row(page, 1)).to_be_attached()
    queue.valid = {"access-5"}
    await page.get_by_label("Name").fill("admin")
    await page.get_by_label("Password").fill("correct horse")
    await page.keyboard.press("Enter")
    await expect(page.locator("#connection")).to_have_text("Live")
    assert queue.seen_ids[-1] == "c3"


async def test_tabs_without_locks_renew_one_after_the_other(page: Page, queue: FakeQueue) -> None:
    # On plain http there are no locks; a refresh token used twice would end the session.
    await page.context.add_init_script("delete Navigator.prototype.locks")
    queue.add(1)
    await sign_in(page, queue)
    other = await page.context.new_page()
    await other.goto(queue.address)
    await expect(row(other, 1)).to_be_visible()
    await queue.connected(2)
    assert await other.evaluate("navigator.locks") is None
    before = queue.issued
    queue.valid, queue.refused = set(), 0
    queue.renewing.clear()
    queue.cut()
    async with asyncio.timeout(15):
        while queue.refused < 2:
            await page.wait_for_timeout(50)
    await page.wait_for_timeout(300)  # what either tab does about it is on its way by now
    queue.renewing.set()
    for tab in (page, other):
        await expect(tab.locator("#connection")).to_have_text("Live", timeout=15_000)
    await queue.connected(4)
    assert queue.issued == before + 1


async def test_a_new_token_that_is_refused_too_asks_for_a_sign_in(page: Page, queue: FakeQueue) -> None:
    queue.add(1)
    await sign_in(page, queue)
    queue.valid, queue.ended = set(), True
    queue.cut()
    await expect(page.get_by_role("dialog", name="Sign in")).to_be_visible()
    assert await page.evaluate("Object.keys(sessionStorage)") == []


async def test_who_is_no_admin_is_told_in_words(page: Page, queue: FakeQueue) -> None:
    queue.admin = False
    await page.goto(queue.address)
    await page.get_by_label("Name").fill("admin")
    await page.get_by_label("Password").fill("correct horse")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="This is for admins")).to_be_visible()
    await expect(page.get_by_text("only admins see work items")).to_be_visible()
    await expect(page.locator("#connection")).to_have_text("Not allowed")
    await expect(page.locator(".list")).to_be_hidden()
    queue.admin = True
    await page.get_by_role("button", name="Sign in as somebody else").click()
    queue.valid = {"access-1"}
    await page.get_by_label("Name").fill("admin")
    await page.get_by_label("Password").fill("correct horse")
    await page.keyboard.press("Enter")
    await expect(page.locator("#connection")).to_have_text("Live")


async def test_a_host_may_ask_for_a_token(page: Page, queue: FakeQueue) -> None:
    queue.sign_in = TokenSignIn(label="Operator's token")
    queue.add(1)
    await page.goto(queue.address)
    await page.get_by_label("Operator's token").fill("access-1")
    await page.keyboard.press("Enter")
    await expect(row(page, 1)).to_be_visible()


async def test_a_host_may_leave_it_to_its_proxy(page: Page, queue: FakeQueue) -> None:
    queue.sign_in = ProxySignIn()
    queue.add(1)
    await page.goto(queue.address)
    await expect(row(page, 1)).to_be_visible()
    await expect(page.get_by_role("button", name="Sign out")).to_be_hidden()
