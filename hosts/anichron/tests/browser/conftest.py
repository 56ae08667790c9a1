"""A real browser in front of real processes."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from anichron.up.sample import make_sample
from hosts.anichron.tests.browser.system import System
from hosts.anichron.tests.process.program import Program

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 20_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, or the test is skipped. No longer-lived: its loop must not meet those of other tests."""
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if executable is None:
        pytest.skip("the view needs a browser to be tested: install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page in a browser profile of its own; a script error or a breach of the policy fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on(
        "console", lambda message: faults.append(message.text) if "Content Security" in message.text else None
    )
    yield page
    context.close()
    assert faults == []


@pytest.fixture
def system(anichron_dsn: str, anichron: Callable[..., Program], tmp_path: Path) -> System:
    """An installation none of whose processes runs yet."""
    made = System(anichron_dsn, tmp_path / "proxies", anichron)
    made.add_people()
    return made


@pytest.fixture
def album(tmp_path: Path) -> Path:
    """Photos enough for some seconds of work by one thread."""
    return make_sample(tmp_path / "album", count=40)


@pytest.fixture
def real_album(photos: Path, tmp_path: Path) -> Path:
    """Real photos, each some times over and no two alike, so that a crawl takes a while."""
    folder = tmp_path / "real photos"
    folder.mkdir()
    pictures = sorted(photo for photo in photos.rglob("*") if photo.suffix.lower() in (".jpg", ".jpeg"))
    for number in range(-(-200 // len(pictures))):
        for photo in pictures:
            # What follows the picture is no part of it, but of the file's content.
            content = photo.read_bytes() + f"copy {number}".encode()
            (folder / f"{number:03}-{photo.name}").write_bytes(content)
    return folder
