"""A scene for each test: a database of its own and sessions that are driven step by step."""

from collections.abc import AsyncIterator

import pytest

from tests.postgres.stepping import Scene, opened


@pytest.fixture
async def scene(dsn: str) -> AsyncIterator[Scene]:
    async with opened(dsn) as scene:
        yield scene
