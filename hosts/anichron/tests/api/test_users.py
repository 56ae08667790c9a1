"""Admins look after users."""

from collections.abc import Awaitable, Callable
from uuid import uuid4

import httpx
import pytest

from hosts.anichron.tests.api.problem import assert_problem

USERS = "/api/v1/admin/users"
LOGIN = "/api/v1/auth/login"
SignIn = Callable[[str], Awaitable[dict[str, str]]]


async def id_of(api: httpx.AsyncClient, admin: dict[str, str], name: str) -> str:
    users = (await api.get(USERS, headers=admin)).json()["users"]
    return str(next(user["id"] for user in users if user["username"] == name))


async def can_sign_in(api: httpx.AsyncClient, name: str, password: str) -> bool:
    answer = await api.post(LOGIN, json={"username": name, "password": password})
    return answer.status_code == 200


async def test_all_users_are_listed_without_what_is_secret(
    api: httpx.AsyncClient, admin: dict[str, str]
) -> None:
    answer = await api.get(USERS, headers=admin)
    users = answer.json()["users"]
    assert [(user["username"], user["is_admin"], user["disabled_at"]) for user in users] == [
        ("ada", False, None),
        ("root", True, None),
    ]
    assert "argon2" not in answer.text


async def test_a_user_is_made_with_a_password_that_is_told_once(
    api: httpx.AsyncClient, admin: dict[str, str]
) -> None:
    answer = await api.post(USERS, headers=admin, json={"username": "bob", "email": "Bob@example.org"})
    assert answer.status_code == 201
    bob = answer.json()
    assert (bob["username"], bob["email"], bob["is_admin"]) == ("bob", "bob@example.org", False)
    assert answer.headers["cache-control"] == "no-store"
    assert await can_sign_in(api, "bob", bob["password"])
    assert "password" not in (await api.get(f"{USERS}/{bob['id']}", headers=admin)).json()


async def test_a_password_that_was_given_is_not_repeated(
    api: httpx.AsyncClient, admin: dict[str, str]
) -> None:
    body = {"username": "bob", "password": "correct horse", "is_admin": True}
    answer = await api.post(USERS, headers=admin, json=body)
    assert answer.json()["password"] is None
    assert answer.json()["is_admin"]
    assert await can_sign_in(api, "bob", "correct horse")


@pytest.mark.parametrize("body", [{"username": "ada"}, {"username": "bob", "email": "ADA@example.org"}])
async def test_a_taken_name_or_address_is_a_conflict(
    api: httpx.AsyncClient, admin: dict[str, str], body: dict[str, str]
) -> None:
    assert_problem(await api.post(USERS, headers=admin, json=body), 409)


@pytest.mark.parametrize(
    "body",
    [
        {"username": ""},
        {"username": "a b"},
        {"username": "a@b"},
        {"username": "a\x00"},
        {"username": "x" * 101},
        {"username": "bob", "email": "nowhere"},
        {"username": "bob", "password": "1234567"},
        {"username": "bob\u200b\u00a0"},
    ],
)
async def test_what_cannot_be_a_user_is_refused(
    api: httpx.AsyncClient, admin: dict[str, str], body: dict[str, str]
) -> None:
    assert_problem(await api.post(USERS, headers=admin, json=body), 422)


async def test_a_disabled_user_is_out_at_once_and_an_enabled_one_may_sign_in_again(
    api: httpx.AsyncClient, admin: dict[str, str], signed_in: SignIn
) -> None:
    ada = await signed_in("ada")
    path = f"{USERS}/{await id_of(api, admin, 'ada')}"
    answer = await api.patch(path, headers=admin, json={"disabled": True})
    assert answer.json()["disabled_at"] is not None
    assert_problem(await api.get("/api/v1/auth/me", headers=ada), 401)
    assert not await can_sign_in(api, "ada", "pw")
    answer = await api.patch(path, headers=admin, json={"disabled": False})
    assert answer.json()["disabled_at"] is None
    assert await can_sign_in(api, "ada", "pw")


async def test_the_last_admin_cannot_be_disabled(api: httpx.AsyncClient, admin: dict[str, str]) -> None:
    path = f"{USERS}/{await id_of(api, admin, 'root')}"
    assert_problem(await api.patch(path, headers=admin, json={"disabled": True}), 409)
    assert (await api.get(path, headers=admin)).json()["disabled_at"] is None


async def test_a_reset_ends_the_user_s_sessions(
    api: httpx.AsyncClient, admin: dict[str, str], signed_in: SignIn
) -> None:
    ada = await signed_in("ada")
    path = f"{USERS}/{await id_of(api, admin, 'ada')}/password"
    password = (await api.post(path, headers=admin, json={})).json()["password"]
    assert_problem(await api.get("/api/v1/auth/me", headers=ada), 401)
    assert not await can_sign_in(api, "ada", "pw")
    assert await can_sign_in(api, "ada", password)
    assert (await api.post(path, headers=admin, json={"password": "correct horse"})).json() == {
        "password": None
    }
    assert await can_sign_in(api, "ada", "correct horse")


async def test_an_unknown_user_is_not_found(api: httpx.AsyncClient, admin: dict[str, str]) -> None:
    path = f"{USERS}/{uuid4()}"
    assert_problem(await api.get(path, headers=admin), 404)
    assert_problem(await api.patch(path, headers=admin, json={"disabled": True}), 404)
    assert_problem(await api.post(f"{path}/password", headers=admin, json={}), 404)
    assert_problem(await api.get(f"{USERS}/ada", headers=admin), 422)


async def test_an_admin_who_is_none_any_more_is_refused_at_once(
    api: httpx.AsyncClient, admin: dict[str, str], people: str
) -> None:
    import psycopg

    assert (await api.get(USERS, headers=admin)).status_code == 200
    with psycopg.connect(people) as connection:
        connection.execute("update anichron.users set is_admin = false")
    assert_problem(await api.get(USERS, headers=admin), 403)
