"""Signing in to the view: who gets in, who does not, and tokens that run out."""

import re

import pytest
from playwright.sync_api import Page, Request, expect

from hosts.anichron.tests.browser.system import System
from hosts.anichron.tests.browser.view import (
    LONG,
    expect_live,
    expect_status,
    fill_sign_in,
    sign_in,
)
from hosts.anichron.tests.process.program import rows

pytestmark = pytest.mark.timeout(180)


def test_an_admin_signs_in_stays_so_over_a_reload_and_signs_out(page: Page, system: System) -> None:
    system.api()
    page.goto(f"{system.address}/admin/")
    fill_sign_in(page, "root", "wrong")
    expect(page.get_by_role("alert").filter(has_text="The name or the password is wrong")).to_be_visible()
    sign_in(page, system)
    expect_live(page)
    expect(page.locator("#who")).to_have_text("root")
    page.reload()
    expect_live(page)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(page.get_by_label("Name")).to_be_focused()
    system.await_true("select bool_and(revoked_at is not null) from anichron.refresh_tokens", seconds=10)


def test_who_is_no_admin_is_told_so_and_sees_nothing(page: Page, system: System) -> None:
    system.queue()
    system.api()
    answers: list[tuple[str, int]] = []
    page.on("response", lambda answer: answers.append((answer.url, answer.status)))
    sign_in(page, system, "ada")
    expect(page.get_by_role("heading", name="This is for admins")).to_be_visible()
    expect(page.get_by_text("Only admins may do this.")).to_be_visible()
    assert page.locator(".rows .row").count() == 0
    work = [status for url, status in answers if "/admin/work-items" in url]
    assert work
    assert set(work) == {403}
    page.get_by_role("button", name="Sign in as somebody else").click()
    fill_sign_in(page, "root", "correct horse")
    expect_live(page)
    expect(page.locator(".rows .row")).to_have_count(1)


def test_a_token_that_expires_during_the_stream_costs_no_change_and_no_sign_in(
    page: Page, system: System
) -> None:
    system.api(API__ACCESS_TOKEN_MINUTES=0.1)
    streams: list[str | None] = []

    def note(request: Request) -> None:
        if "/events" in request.url:
            streams.append(request.all_headers().get("last-event-id"))

    page.on("request", note)
    sign_in(page, system)
    expect_live(page)
    queued = [system.queue()]
    expect_status(page, queued[0], "queued")
    for _ in range(2):
        seen = len(streams)
        # Over the end of the stream that is open, and whatever happens meanwhile.
        while len(streams) == seen:
            queued.append(system.queue())
            page.wait_for_timeout(400)
        expect_live(page)
    for item in queued:
        expect_status(page, item, "queued")
    assert all(since for since in streams[1:]), "a stream goes on where the last one ended"
    assert page.get_by_role("dialog").count() == 0
    assert rows(system.dsn, "select count(distinct family_id) from anichron.refresh_tokens") == [(1,)]
    assert rows(system.dsn, "select count(*) > 2 from anichron.refresh_tokens") == [(True,)]


def test_a_session_that_was_ended_elsewhere_asks_for_a_sign_in_and_goes_on(
    page: Page, system: System
) -> None:
    system.api(API__ACCESS_TOKEN_MINUTES=0.1)
    sign_in(page, system)
    expect_live(page)
    system.one(
        "with ended as (update anichron.refresh_tokens set revoked_at = clock_timestamp()"
        " where revoked_at is null returning id) select id from ended"
    )
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible(timeout=LONG)
    missed = system.queue()
    fill_sign_in(page, "root", "correct horse")
    expect_live(page)
    expect_status(page, missed, "queued")


def test_the_page_is_told_how_long_to_wait_after_too_many_attempts(page: Page, system: System) -> None:
    system.api()
    page.goto(f"{system.address}/admin/")
    for _ in range(11):
        page.get_by_label("Name").fill("root")
        page.get_by_label("Password").fill("wrong")
        with page.expect_response("**/auth/login"):
            page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("alert").filter(has_text=re.compile(r"try again in \d+ seconds"))).to_be_visible()
