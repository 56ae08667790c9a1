"""Admins look after storage configs."""

from collections.abc import Mapping
from uuid import uuid4

import httpx
import psycopg
import pytest

from hosts.anichron.tests.api.problem import assert_problem

CONFIGS = "/api/v1/admin/storage-configs"
USERS = "/api/v1/admin/users"


@pytest.fixture
async def ids(api: httpx.AsyncClient, admin: dict[str, str]) -> Mapping[str, str]:
    """The users' ids by name."""
    users = (await api.get(USERS, headers=admin)).json()["users"]
    return {user["username"]: user["id"] for user in users}


async def make(api: httpx.AsyncClient, admin: dict[str, str], user_id: str, root_path: str) -> httpx.Response:
    return await api.post(CONFIGS, headers=admin, json={"user_id": user_id, "root_path": root_path})


async def roots(api: httpx.AsyncClient, admin: dict[str, str], **query: str) -> list[str]:
    answer = await api.get(CONFIGS, headers=admin, params=query)
    return [config["root_path"] for config in answer.json()["storage_configs"]]


async def test_a_folder_is_made_listed_deactivated_and_deleted(
    api: httpx.AsyncClient, admin: dict[str, str], ids: Mapping[str, str], people: str
) -> None:
    answer = await make(api, admin, ids["ada"], "/photos/ada/")
    assert answer.status_code == 201
    config = answer.json()
    assert (config["user_id"], config["root_path"], config["is_active"]) == (ids["ada"], "/photos/ada", True)
    await make(api, admin, ids["root"], "/photos/root")
    assert await roots(api, admin) == ["/photos/ada", "/photos/root"]
    assert await roots(api, admin, user_id=ids["ada"]) == ["/photos/ada"]

    path = f"{CONFIGS}/{config['id']}"
    assert (await api.patch(path, headers=admin, json={"is_active": False})).json()["is_active"] is False
    assert (await make(api, admin, ids["ada"], "/photos/ada")).json()["is_active"] is False
    assert (await api.patch(path, headers=admin, json={"is_active": True})).json()["is_active"] is True

    with psycopg.connect(people) as connection:
        connection.execute(
            "insert into treadle.work_items (kind, payload, scope_id) values ('crawl', '{}', %s)",
            [config["id"]],
        )
    assert (await api.delete(path, headers=admin)).status_code == 204
    assert await roots(api, admin) == ["/photos/root"]
    with psycopg.connect(people) as connection:
        assert connection.execute("select count(*) from treadle.work_items").fetchone() == (0,)


@pytest.mark.parametrize(
    "other", ["/photos", "/photos/", "/photos/2024", "/photos/./x/../2024/may", "/", "//photos"]
)
async def test_a_folder_of_somebody_else_is_a_conflict_and_so_is_one_in_or_around_it(
    api: httpx.AsyncClient, admin: dict[str, str], ids: Mapping[str, str], other: str
) -> None:
    await make(api, admin, ids["ada"], "/photos")
    assert_problem(await make(api, admin, ids["root"], other), 409)
    assert await roots(api, admin) == ["/photos"]


async def test_a_folder_beside_it_and_one_s_own_within_are_none(
    api: httpx.AsyncClient, admin: dict[str, str], ids: Mapping[str, str]
) -> None:
    await make(api, admin, ids["ada"], "/photos")
    assert (await make(api, admin, ids["root"], "/photos2")).status_code == 201
    assert (await make(api, admin, ids["ada"], "/photos/2024")).status_code == 201
    assert_problem(await make(api, admin, ids["root"], "/photos/2025"), 409)


@pytest.mark.parametrize("path", ["", "photos", "../photos", "/a\x00", "/" + "x" * 5_000])
async def test_what_is_no_absolute_path_is_refused(
    api: httpx.AsyncClient, admin: dict[str, str], ids: Mapping[str, str], path: str
) -> None:
    assert_problem(await make(api, admin, ids["ada"], path), 422)


async def test_the_unknown_is_not_found(api: httpx.AsyncClient, admin: dict[str, str]) -> None:
    path = f"{CONFIGS}/{uuid4()}"
    assert_problem(await api.patch(path, headers=admin, json={"is_active": True}), 404)
    assert_problem(await api.delete(path, headers=admin), 404)
    assert_problem(await make(api, admin, str(uuid4()), "/photos"), 404)
