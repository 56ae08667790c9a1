"""Every route of the application, walked: who may come in, and what an error looks like."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any
from uuid import uuid4

import httpx
import pytest
from fastapi import APIRouter, FastAPI

from anichron.api.process import create_app
from hosts.anichron.tests.api.problem import assert_problem

NOWHERE = "host=127.0.0.1 port=1"
OPEN = {
    ("GET", "/api/v1/healthz"),
    ("GET", "/api/v1/openapi.json"),
    ("POST", "/api/v1/auth/login"),
    ("POST", "/api/v1/auth/refresh"),
    ("POST", "/api/v1/auth/logout"),
}
FOR_USERS = {("GET", "/api/v1/auth/me")}


def walked(app: FastAPI) -> Iterator[tuple[str, str]]:
    """Every method and path of the application that is no page of the view."""
    document: Mapping[str, Mapping[str, Any]] = app.openapi()["paths"]
    for path, methods in document.items():
        for method in methods:
            yield method.upper(), path
    yield "GET", str(app.openapi_url)


ROUTES = sorted(walked(create_app(NOWHERE)))
GUARDED = [route for route in ROUTES if route not in OPEN]


def test_the_walk_sees_every_route() -> None:
    """Whatever is served is in the API's description, or is the view's page."""
    served = list(_served(create_app(NOWHERE).router))
    routes = {(method, path) for path, methods in served for method in methods - {"HEAD", "OPTIONS"}}
    assert routes == set(ROUTES)
    assert [path for path, methods in served if not methods] == ["/admin"]


def test_work_items_have_the_routes_that_are_guarded_below() -> None:
    work = {route for route in GUARDED if "/admin/work-items" in route[1]}
    assert work >= {
        ("GET", "/api/v1/admin/work-items"),
        ("GET", "/api/v1/admin/work-items/events"),
        ("GET", "/api/v1/admin/work-items/{item_id}"),
        ("POST", "/api/v1/admin/work-items/{item_id}/cancel"),
    }


@pytest.mark.parametrize(("method", "path"), GUARDED)
async def test_nobody_comes_in_without_having_signed_in(
    api: httpx.AsyncClient, method: str, path: str
) -> None:
    for headers in ({}, {"Authorization": "Bearer made.up.token"}):
        answer = await ask(api, method, path, headers)
        assert_problem(answer, 401)
        assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(("method", "path"), [route for route in GUARDED if route not in FOR_USERS])
async def test_only_admins_come_in(
    api: httpx.AsyncClient, signed_in: Callable[[str], Awaitable[dict[str, str]]], method: str, path: str
) -> None:
    assert_problem(await ask(api, method, path, await signed_in("ada")), 403)


@pytest.mark.parametrize(("method", "path"), GUARDED)
def test_the_description_says_that_a_token_is_needed(method: str, path: str) -> None:
    operation = create_app(NOWHERE).openapi()["paths"][path][method.lower()]
    assert operation["security"]
    assert "401" in operation["responses"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/api/v1/nothing", 404),
        ("GET", "/docs", 404),
        ("GET", "/api/v1/auth/login", 405),
        ("DELETE", "/api/v1/healthz", 405),
    ],
)
async def test_what_no_route_answers_is_a_problem_too(
    api: httpx.AsyncClient, method: str, path: str, status: int
) -> None:
    answer = await api.request(method, path)
    assert_problem(answer, status)
    assert ("allow" in answer.headers) == (status == 405)


async def test_what_nobody_foresaw_is_a_problem_that_tells_nothing(
    api: httpx.AsyncClient, admin: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise RuntimeError("a secret of ours")

    monkeypatch.setattr("anichron.identity.users.Users.profiles", fail)
    answer = await api.get("/api/v1/admin/users", headers=admin)
    assert_problem(answer, 500)
    assert "secret" not in answer.text
    assert "RuntimeError" not in answer.text


async def ask(api: httpx.AsyncClient, method: str, path: str, headers: dict[str, str]) -> httpx.Response:
    for name in ("item_id", "user_id", "config_id"):
        path = path.replace(f"{{{name}}}", str(uuid4()))
    assert "{" not in path
    # Without a body that makes sense: whoever may not come in is not told what is wrong with it.
    return await api.request(method, path, headers=headers)


def _served(router: APIRouter) -> Iterator[tuple[str, set[str]]]:
    """The path and methods of every route, those of included routers too."""
    for route in router.routes:
        included = getattr(route, "effective_route_contexts", None)
        for found in included() if included else [route]:
            yield str(getattr(found, "path", found)), set(getattr(found, "methods", ()) or ())
