"""Who may come in: the dependencies that routes are guarded with."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final
from uuid import UUID

from fastapi import Depends, HTTPException, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from anichron.auth.sign_in import SignIn

CHALLENGE: Final = {"WWW-Authenticate": 'Bearer realm="Anichron"'}
_EXPIRED: Final = {"WWW-Authenticate": 'Bearer realm="Anichron", error="invalid_token"'}

_bearer = HTTPBearer(auto_error=False, description="The access token that signing in answers with.")


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A user who has signed in, until their access token expires."""

    id: UUID
    username: str
    email: str | None
    is_admin: bool
    expires_at: datetime


Require = Callable[..., Awaitable[SignedIn]]


def require_user(sign_in: SignIn) -> Require:
    """A dependency that answers 401 to whoever has not signed in. It asks the database every time."""

    async def signed_in(
        credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
    ) -> SignedIn:
        if credentials is None:
            raise HTTPException(401, "Sign in first.", CHALLENGE)
        caller = await sign_in.caller(credentials.credentials)
        if caller is None:
            raise HTTPException(401, "The access token has expired or is not valid; sign in again.", _EXPIRED)
        visitor = caller.visitor
        return SignedIn(
            visitor.id, visitor.username, visitor.email, visitor.is_admin, expires_at=caller.expires_at
        )

    return signed_in


def require_admin(user: Require) -> Require:
    """A dependency that answers 403 to whoever is no admin, and 401 as *user* does."""

    async def admin(signed_in: Annotated[SignedIn, Depends(user)]) -> SignedIn:
        if not signed_in.is_admin:
            raise HTTPException(403, "Only admins may do this.")
        return signed_in

    return admin


def never_store(response: Response) -> None:
    """A dependency that keeps answers out of caches."""
    response.headers["Cache-Control"] = "no-store"
