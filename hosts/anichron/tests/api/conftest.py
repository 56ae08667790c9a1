"""The API in this process, on a database with an admin and a user who is none."""

from collections.abc import AsyncIterator, Awaitable, Callable

import httpx
import pytest
import pytest_asyncio
from argon2 import PasswordHasher

from anichron.database import Database
from anichron.identity.passwords import Passwords
from anichron.identity.users import Users
from hosts.anichron.tests.api.serving import serving

CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@pytest_asyncio.fixture
async def people(anichron_dsn: str) -> str:
    """The database, with the admin `root` and the user `ada`, whose password is `pw`."""
    async with Database(anichron_dsn) as database:
        users = Users(database, Passwords(CHEAP))
        await users.add("root", password="pw", is_admin=True)
        await users.add("ada", password="pw", email="ada@example.org")
    return anichron_dsn


@pytest_asyncio.fixture
async def api(people: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(people) as client:
        yield client


@pytest.fixture
def signed_in(api: httpx.AsyncClient) -> Callable[[str], Awaitable[dict[str, str]]]:
    """Sign somebody in; the headers of their requests."""

    async def sign_in(name: str) -> dict[str, str]:
        answer = await api.post("/api/v1/auth/login", json={"username": name, "password": "pw"})
        assert answer.status_code == 200, answer.text
        return {"Authorization": f"Bearer {answer.json()['access_token']}"}

    return sign_in


@pytest_asyncio.fixture
async def admin(signed_in: Callable[[str], Awaitable[dict[str, str]]]) -> dict[str, str]:
    """The headers of an admin."""
    return await signed_in("root")
