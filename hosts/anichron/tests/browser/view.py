"""What a person does and sees on the page."""

import re

from playwright.sync_api import Locator, Page, expect

from hosts.anichron.tests.browser.system import PASSWORD, System

LONG = 60_000


def sign_in(page: Page, system: System, name: str = "root", *, port: int | None = None) -> None:
    """Open the page and sign in."""
    page.goto(f"http://127.0.0.1:{port or system.port}/admin/")
    fill_sign_in(page, name, PASSWORD)


def fill_sign_in(page: Page, name: str, password: str) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.mouse.move(0, 0)  # what is pointed at does not move, so new rows would wait


def connection(page: Page) -> Locator:
    return page.locator("#connection")


def expect_live(page: Page) -> None:
    expect(connection(page)).to_have_attribute("data-state", "live", timeout=LONG)


def row(page: Page, item_id: object) -> Locator:
    return page.locator(f"#row-{item_id}")


def expect_status(page: Page, item_id: object, status: str, *, timeout: float = LONG) -> None:
    expect(row(page, item_id)).to_have_attribute("data-status", status, timeout=timeout)


def tab(page: Page, name: str) -> Locator:
    return page.get_by_role("navigation", name="Status").get_by_role("link", name=re.compile(f"^{name}"))


def open_item(page: Page, item_id: object) -> Locator:
    """Follow the row's link to the item's detail."""
    row(page, item_id).get_by_role("link").first.click()
    return detail(page)


def detail(page: Page) -> Locator:
    return page.get_by_role("article", name="Work item")


def cancel(page: Page, confirm: str) -> None:
    """Cancel the item that is open, and say yes."""
    detail(page).locator("button.cancel").click()
    page.get_by_role("dialog").get_by_role("button", name=confirm).click()
