"""Signing in, refreshing, signing out, over HTTP."""

from datetime import UTC, datetime, timedelta

import httpx
import psycopg
import pytest
from argon2 import PasswordHasher
from pydantic import SecretStr

from anichron.auth import throttle
from anichron.settings import ApiSection
from hosts.anichron.tests.api.problem import assert_problem
from hosts.anichron.tests.api.serving import serving

LOGIN, REFRESH, LOGOUT, ME = (f"/api/v1/auth/{name}" for name in ("login", "refresh", "logout", "me"))


async def login(api: httpx.AsyncClient, name: str = "ada", password: str = "pw") -> httpx.Response:
    return await api.post(LOGIN, json={"username": name, "password": password})


def bearer(tokens: httpx.Response) -> dict[str, str]:
    return {"Authorization": f"Bearer {tokens.json()['access_token']}"}


@pytest.mark.parametrize("name", ["ada", "ada@example.org", "ADA@example.org"])
async def test_a_user_signs_in_by_name_or_email_and_is_known(api: httpx.AsyncClient, name: str) -> None:
    answer = await login(api, name)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    tokens = answer.json()
    assert tokens.keys() == {"access_token", "refresh_token", "token_type", "expires_in"}
    assert tokens["token_type"] == "bearer"
    assert 15 * 60 - 3 <= tokens["expires_in"] <= 15 * 60
    me = (await api.get(ME, headers=bearer(answer))).json()
    assert (me["username"], me["email"], me["is_admin"]) == ("ada", "ada@example.org", False)
    until = datetime.fromisoformat(me["expires_at"]) - datetime.now(UTC)
    assert timedelta(minutes=14) < until <= timedelta(minutes=15)


@pytest.mark.parametrize(
    ("name", "password"), [("ada", "wrong"), ("nobody", "pw"), ("ada", ""), ("ada", "\x00")]
)
async def test_whatever_is_wrong_is_refused_with_the_same_words(
    api: httpx.AsyncClient, name: str, password: str
) -> None:
    answer = await login(api, name, password)
    problem = assert_problem(answer, 401)
    assert problem["detail"] == "The name or the password is wrong."
    assert answer.headers["www-authenticate"].startswith("Bearer")


async def test_a_disabled_user_is_refused_with_the_same_words(api: httpx.AsyncClient, people: str) -> None:
    with psycopg.connect(people) as connection:
        connection.execute("update anichron.users set disabled_at = now() where username = 'ada'")
    assert assert_problem(await login(api), 401) == assert_problem(await login(api, "nobody"), 401)


async def test_a_refresh_answers_with_another_pair_and_takes_the_old_token_once(
    api: httpx.AsyncClient,
) -> None:
    first = await login(api)
    second = await api.post(REFRESH, json={"refresh_token": first.json()["refresh_token"]})
    assert second.status_code == 200
    assert second.json()["refresh_token"] != first.json()["refresh_token"]
    assert (await api.get(ME, headers=bearer(second))).status_code == 200
    again = await api.post(REFRESH, json={"refresh_token": first.json()["refresh_token"]})
    assert_problem(again, 401)
    assert_problem(await api.get(ME, headers=bearer(second)), 401)
    assert_problem(await api.post(REFRESH, json={"refresh_token": second.json()["refresh_token"]}), 401)


async def test_after_the_logout_neither_token_is_of_use(api: httpx.AsyncClient) -> None:
    tokens, other = await login(api), await login(api)
    token = {"refresh_token": tokens.json()["refresh_token"]}
    for _ in range(2):
        answer = await api.post(LOGOUT, json=token)
        assert (answer.status_code, answer.content) == (204, b"")
    assert_problem(await api.get(ME, headers=bearer(tokens)), 401)
    assert_problem(await api.post(REFRESH, json=token), 401)
    assert (await api.get(ME, headers=bearer(other))).status_code == 200


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer x", "Basic YWRhOnB3", "Bearer a b"])
async def test_without_a_valid_token_nobody_is_known(api: httpx.AsyncClient, header: str) -> None:
    answer = await api.get(ME, headers={"Authorization": header} if header else {})
    assert_problem(answer, 401)
    assert answer.headers["www-authenticate"].startswith("Bearer")


async def test_an_expired_access_token_is_refused_and_its_session_goes_on(people: str) -> None:
    async with serving(people, ApiSection(access_token_minutes=0.0001)) as api:
        tokens = await login(api)
        assert_problem(await api.get(ME, headers=bearer(tokens)), 401)
        again = await api.post(REFRESH, json={"refresh_token": tokens.json()["refresh_token"]})
        assert again.status_code == 200


async def test_a_session_ends_after_the_days_that_are_set(people: str) -> None:
    async with serving(people, ApiSection(refresh_token_days=1e-9)) as api:
        tokens = await login(api)
        assert_problem(await api.post(REFRESH, json={"refresh_token": tokens.json()["refresh_token"]}), 401)


async def test_the_key_of_the_settings_signs(people: str) -> None:
    async with (
        serving(people, ApiSection(secret_key=SecretStr("a" * 32))) as one,
        serving(people, ApiSection(secret_key=SecretStr("a" * 32))) as same,
        serving(people, ApiSection(secret_key=SecretStr("b" * 32))) as other,
    ):
        tokens = await login(one)
        assert (await same.get(ME, headers=bearer(tokens))).status_code == 200
        assert_problem(await other.get(ME, headers=bearer(tokens)), 401)
    with psycopg.connect(people) as connection:
        assert connection.execute("select count(*) from anichron.signing_key").fetchone() == (0,)


async def test_a_hash_of_old_parameters_is_replaced_when_its_user_signs_in(
    api: httpx.AsyncClient, people: str
) -> None:
    query = "select password_hash from anichron.users where username = 'ada'"
    with psycopg.connect(people, autocommit=True) as connection:
        (before,) = connection.execute(query).fetchone() or ("",)
        assert PasswordHasher().check_needs_rehash(before)
        await login(api, password="wrong")
        assert connection.execute(query).fetchone() == (before,)
        assert (await login(api)).status_code == 200
        (after,) = connection.execute(query).fetchone() or ("",)
    assert not PasswordHasher().check_needs_rehash(after)
    assert PasswordHasher().verify(after, "pw")
    assert (await login(api)).status_code == 200


async def test_too_many_attempts_are_refused_until_a_time_that_is_told(api: httpx.AsyncClient) -> None:
    for _ in range(throttle.PER_NAME_AND_ADDRESS):
        assert (await login(api, password="wrong")).status_code == 401
    for password in ("wrong", "pw"):
        answer = await login(api, password=password)
        problem = assert_problem(answer, 429)
        assert 1 <= int(answer.headers["retry-after"]) <= 900
        assert answer.headers["retry-after"] in str(problem["detail"])
    assert (await login(api, "root")).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"username": "ada"}',
        b'{"username": 1, "password": "hunter2"}',
        b'{"username": "a\\u0000", "password": "hunter2"}',
        b'{"username": "a\\ud800", "password": "hunter2"}',
        b'{"username": "", "password": "hunter2"}',
        b"\xff",
    ],
)
async def test_a_request_that_makes_no_sense_is_a_problem_that_repeats_no_password(
    api: httpx.AsyncClient, body: bytes
) -> None:
    answer = await api.post(LOGIN, content=body, headers={"Content-Type": "application/json"})
    assert_problem(answer, 400 if body == b"\xff" else 422)
    assert "hunter2" not in answer.text


async def test_while_the_database_is_away_signing_in_is_a_503(people: str) -> None:
    async with serving("postgresql://nobody:hidden@127.0.0.1:1/nothing") as api:
        answer = await api.post(LOGIN, json={"username": "ada", "password": "pw"}, timeout=60)
    assert_problem(answer, 503)
    assert "retry-after" in answer.headers
    assert "hidden" not in answer.text
