"""A secret in paths, file names and payloads shows nowhere: in no response, no event and no page."""

import json
import threading
from contextlib import suppress
from pathlib import Path

import httpx
import psycopg
import pytest
from playwright.sync_api import Page, expect

from anichron.up.sample import make_sample
from hosts.anichron.tests.browser.system import System, bearer
from hosts.anichron.tests.browser.view import expect_live, expect_status, open_item, sign_in

CANARY = "canary-7f3a1c"
WORK = "/api/v1/admin/work-items"

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def secret_album(tmp_path: Path) -> Path:
    """A folder whose name and whose files' names hold the canary: good ones, broken ones, and no photos."""
    root = make_sample(tmp_path / f"{CANARY}-root", count=12)
    for photo in sorted(root.rglob("*.jpg")):
        photo.rename(photo.with_name(f"{CANARY}-{photo.name}"))
    for number in range(3):
        (root / f"{CANARY}-broken-{number}.jpg").write_bytes(b"\xff\xd8\xff" + CANARY.encode() * 50)
    (root / f"{CANARY}.txt").write_text(CANARY)
    (root / f"{CANARY}-folder").mkdir()
    return root


def test_a_canary_shows_nowhere(page: Page, system: System, secret_album: Path) -> None:
    system.add_folder(secret_album)
    gone = system.add_folder(secret_album.with_name(f"{CANARY}-missing"))
    system.api()
    with psycopg.connect(system.dsn) as connection:
        connection.execute(
            "insert into treadle.work_items (kind, payload, dedup_key)"
            " values ('unknown', jsonb_build_object('secret', %(canary)s::text), %(canary)s)",
            {"canary": CANARY},
        )
    bodies: list[str] = []
    page.on("response", lambda answer: bodies.append(answer.url) if WORK in answer.url else None)
    sign_in(page, system)
    expect_live(page)
    with httpx.Client(base_url=system.address, headers=bearer(system), timeout=30) as api:
        follower = Follower(system.address, bearer(system), since=api.get(WORK).json()["cursor"])
        system.worker()
        system.await_true(
            "select count(*) filter (where status = 'succeeded') = 1 and count(*) filter (where status = 'failed') = 1"
            " from treadle.work_items where kind = 'crawl'"
        )
        # Seen once the crawls' ends are: the stream has told all before them.
        crawls = "select id from treadle.work_items where kind = 'crawl'"
        with psycopg.connect(system.dsn) as connection:
            ids = [str(found) for (found,) in connection.execute(crawls)]
        follower.await_ends(ids)
        answers = [
            api.get(path)
            for path in ("", "/counts", "/workers", "/kinds", "?status=failed", f"?scope_id={gone}")
            for path in [WORK + path]
        ]
        answers += [api.get(f"{WORK}/{item['id']}") for item in answers[0].json()["items"]]
        answers += [api.post(f"{WORK}/{item}/cancel") for item in ids]
        assert {answer.status_code for answer in answers} == {200, 409}
        texts = [answer.text for answer in answers]
    assert len(texts) > 8
    for item in ids:
        expect_status(page, item, "succeeded" if item != failed(system) else "failed")
    texts.append(page.content())
    for item in ids:
        opened = open_item(page, item)
        expect(opened.locator(".outcome")).to_be_visible()
        texts.append(page.content())
        page.keyboard.press("Escape")
        expect(page.locator(".list")).to_be_visible()
    texts += [follower.text, *bodies]
    assert '"failed":3' in "".join(texts).replace(" ", "")
    assert all(CANARY not in text for text in texts)
    assert CANARY in str(secret_album)


def failed(system: System) -> str:
    return str(system.one("select id from treadle.work_items where kind = 'crawl' and status = 'failed'"))


class Follower:
    """Reads the stream in a thread of its own."""

    def __init__(self, address: str, headers: dict[str, str], *, since: str) -> None:
        self.text = ""
        self._open: set[str] = set()
        self._ended: set[str] = set()
        self._changed = threading.Condition()
        arguments = (f"{address}{WORK}/events", headers, since)
        threading.Thread(target=self._follow, args=arguments, daemon=True).start()

    def await_ends(self, ids: list[str]) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self._ended >= set(ids), 60), self.text

    def _follow(self, url: str, headers: dict[str, str], since: str) -> None:
        with (
            suppress(httpx.HTTPError),
            httpx.stream("GET", url, headers=headers, params={"since": since}, timeout=60) as answer,
        ):
            for line in answer.iter_lines():
                with self._changed:
                    self.text += f"{line}\n"
                    if line.startswith('data: {"id"'):
                        item = json.loads(line.removeprefix("data: "))
                        if item["finished_at"]:
                            self._ended.add(item["id"])
                    self._changed.notify_all()
