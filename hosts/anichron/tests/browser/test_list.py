"""Looking through many items, by hand and by filter; what the database holds stays text; what axe finds."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import psycopg
import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it has no types
from playwright.sync_api import Page, expect

from hosts.anichron.tests.browser.system import System, bearer
from hosts.anichron.tests.browser.view import detail, expect_live, expect_status, open_item, sign_in, tab
from hosts.anichron.tests.process.program import rows

pytestmark = pytest.mark.timeout(240)

MANY = 10_000


def add_finished(dsn: str) -> None:
    """Items whose number decides all about them: every tenth is a cleanup, every hundredth failed."""
    with psycopg.connect(dsn) as connection:
        connection.execute(
            "insert into treadle.work_items"
            " (kind, status, attempt, requested_at, started_at, finished_at, claimed_by, error)"
            " select case when n %% 10 = 0 then 'token-cleanup' else 'crawl' end,"
            " case when n %% 100 = 0 then 'failed' else 'succeeded' end, 1, t, t, t, 'all@nas#1',"
            " case when n %% 100 = 0 then 'item ' || n || ' failed' end"
            " from generate_series(1, %(many)s) n, lateral (select clock_timestamp() - make_interval(secs => n)) m (t)",
            {"many": MANY},
        )
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("analyze treadle.work_items")


LOAD_ALL = """async () => {
    const more = document.querySelector("button.more");
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    while (!more.hidden) {
        more.click();
        while (more.closest(".list").hasAttribute("aria-busy")) await frame();
    }
}"""
"""Press the button for more, page after page."""


def shown(page: Page) -> list[str]:
    """The ids of all rows, from the top."""
    found: list[str] = page.locator(".rows .row").evaluate_all("rows => rows.map((row) => row.id.slice(4))")
    return found


def test_of_ten_thousand_items_those_of_a_filter_are_paged_through(page: Page, system: System) -> None:
    add_finished(system.dsn)
    system.api()
    sign_in(page, system)
    expect_live(page)
    expect(tab(page, "Failed")).to_contain_text("100")

    tab(page, "Failed").click()
    expect(page.locator('.rows .row[data-status="failed"]')).to_have_count(50)
    page.get_by_role("button", name="Load more").click()
    expect(page.locator(".rows .row")).to_have_count(100)
    assert parse_qs(urlsplit(page.url).query) == {"status": ["failed"]}

    page.get_by_label("Kind").fill("crawl")
    page.keyboard.press("Enter")
    expect(page.get_by_text("No item matches")).to_be_visible()
    page.get_by_label("Kind").fill("token-cleanup")
    page.keyboard.press("Enter")
    expect(page.locator(".rows .row")).to_have_count(50)
    page.go_back()
    page.go_back()
    expect(page.locator(".rows .row")).to_have_count(50)
    page.reload()
    expect(page.locator('.rows .row[data-status="failed"]')).to_have_count(50)

    tab(page, "All").click()
    expect(page.locator('.rows .row[data-status="succeeded"]').first).to_be_visible()
    page.get_by_label("Kind").fill("token-cleanup")
    page.keyboard.press("Enter")
    expect(page.locator(".rows .row").filter(has_text="token-cleanup")).to_have_count(50)
    page.evaluate(LOAD_ALL)
    assert len(shown(page)) == MANY // 10
    assert shown(page) == expected(system.dsn, kind="token-cleanup")
    new = system.queue("token-cleanup")
    page.evaluate("scrollTo({ top: 0 })")
    expect_status(page, new, "queued")


def test_ten_thousand_items_are_paged_through_while_rows_move(system: System) -> None:
    add_finished(system.dsn)
    system.api()
    found: list[str] = []
    with httpx.Client(base_url=system.address, headers=bearer(system), timeout=30) as api:
        page: dict[str, Any] = {"next": ""}
        while page["next"] is not None:
            after = {"after": page["next"]} if page["next"] else {}
            page = api.get("/api/v1/admin/work-items", params={"limit": 200, **after}).json()
            found += [item["id"] for item in page["items"]]
            system.queue()
    assert found == expected(system.dsn)


def expected(dsn: str, kind: str | None = None) -> list[str]:
    """The ids of the finished items, the newest first."""
    query = (
        "select id::text from treadle.work_items where finished_at is not null"
        " and (%(kind)s::text is null or kind = %(kind)s) order by id desc"
    )
    return [str(found) for (found,) in rows(dsn, query, {"kind": kind})]


MARKUP = "<script>window.harmed = true</script><img src=x onerror='window.harmed = true'>"


def test_markup_in_what_the_database_holds_is_shown_as_text(page: Page, system: System) -> None:
    item = system.one(
        "insert into treadle.work_items"
        " (kind, requested_by, status, attempt, started_at, finished_at, claimed_by, error,"
        " progress_done, progress_note)"
        " values (%(text)s, %(text)s, 'failed', 1, now(), now(), %(text)s, %(text)s, 1, %(text)s) returning id",
        {"text": MARKUP},
    )
    with psycopg.connect(system.dsn) as connection:
        connection.execute(
            "insert into treadle.item_events (item_id, attempt, event, detail) values (%s, 1, 'stalled', %s)",
            [item, MARKUP],
        )
    system.api()
    sign_in(page, system)
    expect_live(page)
    expect_status(page, item, "failed")
    opened = open_item(page, item)
    expect(opened.locator("pre.error")).to_have_text(MARKUP)
    expect(opened.get_by_role("heading", level=1)).to_have_text(MARKUP)
    assert page.evaluate("window.harmed") is None
    assert page.locator("img[src='x'], main script").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(page: Page, system: System, scheme: str) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    add_finished(system.dsn)
    item = system.queue()
    system.api()
    page.goto(f"{system.address}/admin/")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert_accessible(page)
    sign_in(page, system)
    expect_live(page)
    expect_status(page, item, "queued")
    assert_accessible(page)
    open_item(page, item)
    expect(detail(page)).to_have_attribute("data-status", "queued")
    assert_accessible(page)
    page.keyboard.press("w")
    expect(page.get_by_role("heading", name="Workers")).to_be_visible()
    assert_accessible(page)
    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="Keyboard")).to_be_visible()
    assert_accessible(page)


def assert_accessible(page: Page) -> None:
    found = Axe().run(page).response["violations"]
    serious = [
        (violation["id"], [node["html"] for node in violation["nodes"]])
        for violation in found
        if violation["impact"] in ("serious", "critical")
    ]
    assert serious == []
