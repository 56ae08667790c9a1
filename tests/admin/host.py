"""An application that mounts the API behind its own sign-in: two fixed tokens, of an admin and of somebody else."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

from fastapi import FastAPI, HTTPException, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from treadle.admin import AdminStore, admin_router

ADMIN: Final = {"Authorization": "Bearer of-an-admin"}
SOMEBODY: Final = {"Authorization": "Bearer of-somebody"}
EXPIRED: Final = {"Authorization": "Bearer of-an-admin-expired"}
API: Final = "/api/v1/admin/work-items"
_bearer = HTTPBearer(auto_error=False)


@dataclass(frozen=True)
class Session:
    """Who is signed in, and until when."""

    expires_at: datetime | None


def require_admin(credentials: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]) -> Session:
    match credentials.credentials if credentials else None:
        case "of-an-admin":
            return Session(None)
        case "of-an-admin-expired":  # a token that ran out between its check and the stream
            return Session(datetime.now(UTC) - timedelta(seconds=1))
        case "of-somebody":
            raise HTTPException(403, "Only admins may see this.")
        case _:
            raise HTTPException(401, "Sign in first.", headers={"WWW-Authenticate": "Bearer"})


def application(store: AdminStore, *, interval: float = 2.0) -> FastAPI:
    app = FastAPI(title="host")
    app.include_router(
        admin_router(store, require_admin=require_admin, kinds=["own"], live_interval=interval)
    )
    return app
