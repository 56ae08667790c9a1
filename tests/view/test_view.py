"""What the server sends: the document, its files and the policy around them."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette

import treadle.admin.view
from treadle.admin.view import ProxySignIn, admin_view

POLICY = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
}
STATIC = Path(treadle.admin.view.__file__).parent / "static"


@pytest.fixture
def client() -> httpx.AsyncClient:
    app = Starlette()
    app.mount("/admin", admin_view(api="/work", sign_in=ProxySignIn(), title='<b>"Work" & more</b>'))
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://test", follow_redirects=True
    )


class Document(HTMLParser):
    """The elements of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts_with_text = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if (
            self.lasttag in {"script", "style"}
            and data.strip()
            and self.elements[-1][0] in {"script", "style"}
        ):
            self.scripts_with_text += 1


async def test_the_page_is_at_the_mount_with_and_without_a_slash(client: httpx.AsyncClient) -> None:
    assert (await client.get("/admin/")).status_code == 200
    assert (await client.get("/admin")).url.path == "/admin/"


@pytest.mark.parametrize(
    "path", ["/admin/", "/admin/static/main.js", "/admin/static/view.css", "/admin/static/none"]
)
async def test_every_answer_carries_the_policy(client: httpx.AsyncClient, path: str) -> None:
    headers = (await client.get(path)).headers
    assert set(headers["content-security-policy"].split("; ")) >= POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-cache"


async def test_nothing_is_inline_and_nothing_comes_from_elsewhere(client: httpx.AsyncClient) -> None:
    document = Document((await client.get("/admin/")).text)
    assert document.scripts_with_text == 0
    for _, attributes in document.elements:
        assert not [name for name in attributes if name == "style" or name.startswith("on")]
        for name in ("src", "href"):
            assert "//" not in (attributes.get(name) or "")


async def test_every_file_the_page_names_is_there(client: httpx.AsyncClient) -> None:
    document = Document((await client.get("/admin/")).text)
    named = {attributes.get("href") or attributes.get("src") for _, attributes in document.elements}
    files = {name for name in named if name and name.startswith("static/")}
    assert {f"static/{file.name}" for file in STATIC.glob("*.js")} <= files
    for name in files:
        assert (await client.get(f"/admin/{name}")).status_code == 200


async def test_title_and_settings_are_data_not_markup(client: httpx.AsyncClient) -> None:
    text = (await client.get("/admin/")).text
    assert "<b>" not in text
    (body,) = (attributes for tag, attributes in Document(text).elements if tag == "body")
    assert json.loads(body["data-config"] or "") == {"api": "/work", "sign_in": {"way": "proxy"}}


def test_nothing_makes_markup_of_text() -> None:
    ways = (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "DOMParser",
    )
    for file in STATIC.glob("*.js"):
        text = file.read_text(encoding="utf-8")
        assert not [way for way in ways if way in text], file.name


async def test_a_file_that_has_not_changed_is_not_sent_again(client: httpx.AsyncClient) -> None:
    first = await client.get("/admin/static/main.js")
    again = await client.get("/admin/static/main.js", headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304
