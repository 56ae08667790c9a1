"""The API in this process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from anichron.api.process import create_app
from anichron.settings import ApiSection


@asynccontextmanager
async def serving(dsn: str, settings: ApiSection | None = None) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the API."""
    app = create_app(dsn, settings)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://api") as client,
    ):
        yield client
