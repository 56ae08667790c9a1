"""A store in memory, and a client of an application on it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.admin.host import ADMIN, application
from treadle.memory import MemoryStore
from treadle.testing import FixedClock


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def memory(clock: FixedClock) -> MemoryStore:
    return MemoryStore(clock=clock)


@pytest.fixture
async def client(memory: MemoryStore) -> AsyncIterator[httpx.AsyncClient]:
    """Signed in as an admin."""
    transport = httpx.ASGITransport(application(memory))
    async with httpx.AsyncClient(transport=transport, base_url="http://host", headers=ADMIN) as client:
        yield client
