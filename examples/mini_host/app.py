"""A small application with a queue, and an admin who sees it: ``uvicorn app:app``.

It needs DATABASE_URL (after ``treadle migrate``) and ADMIN_TOKEN, which the admin types in at /admin/.
"""

import os
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from fastapi import Depends, FastAPI, HTTPException
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from treadle import Payload, Registry, WorkQueue
from treadle.admin import admin_router
from treadle.admin.view import TokenSignIn, admin_view
from treadle.postgres import PostgresClient


class Kind(StrEnum):
    GREET = "greet"


class Greet(Payload, kind=Kind.GREET):
    name: str


client = PostgresClient(os.environ["DATABASE_URL"])
queue = WorkQueue(Registry(Kind, payloads=[Greet]), client.queue)
Bearer = Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False))]


def require_admin(bearer: Bearer) -> None:
    if bearer is None:
        raise HTTPException(401, "Send the admin token.", headers={"WWW-Authenticate": "Bearer"})
    if not secrets.compare_digest(bearer.credentials.encode(), os.environ["ADMIN_TOKEN"].encode()):
        raise HTTPException(403, "That is not the admin token.")


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    async with client:
        yield


app = FastAPI(title="Greetings", lifespan=lifespan)
app.include_router(admin_router(client, require_admin=require_admin, kinds=list(Kind)))
app.mount("/admin", admin_view(sign_in=TokenSignIn(), title="Greetings"))


@app.post("/greetings", status_code=202)
async def greet(name: str) -> UUID:
    return (await queue.enqueue(Greet(name=name))).id
