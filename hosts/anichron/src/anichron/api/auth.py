"""Signing in and out."""

from datetime import UTC, datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, HTTPException, Request
from pydantic import BaseModel, ConfigDict, Field

from anichron.api.guard import CHALLENGE, Require, SignedIn, never_store
from anichron.api.text import Name
from anichron.auth.sign_in import SignIn, Tokens
from anichron.auth.throttle import TooManyAttempts
from treadle.admin.problem import ProblemRoute, responses

REFUSED = "The name or the password is wrong."


class Login(BaseModel):
    """Whom to sign in."""

    username: Name = Field(description="Name or email.")
    password: str = Field(max_length=1_000)


class RefreshToken(BaseModel):
    """A refresh token, as signing in or the last refresh answered with it."""

    refresh_token: str = Field(max_length=200)


class TokenPair(BaseModel):
    """What to keep: the access token goes into each request, the refresh token is used once, for the next pair."""

    access_token: str
    refresh_token: str
    token_type: Literal["bearer"] = "bearer"  # noqa: S105 - the name of a scheme
    expires_in: int = Field(description="Seconds that the access token is good for.")


class Me(BaseModel):
    """Who is signed in."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    username: str
    email: str | None
    is_admin: bool
    expires_at: datetime = Field(description="When the access token expires.")


def auth_router(sign_in: SignIn, user: Require) -> APIRouter:
    """``/auth``: login, refresh, logout, me."""
    router = APIRouter(
        prefix="/auth", tags=["auth"], route_class=ProblemRoute, dependencies=[Depends(never_store)]
    )

    @router.post("/login", responses=responses(401, 429))
    async def login(body: Login, request: Request) -> TokenPair:
        """Sign in. A user who is disabled is told what a wrong password is told."""
        address = request.client.host if request.client else ""
        try:
            tokens = await sign_in.login(body.username, body.password, address=address)
        except TooManyAttempts as error:
            detail = f"Too many attempts to sign in; try again in {error.seconds} seconds."
            raise HTTPException(429, detail, {"Retry-After": str(error.seconds)}) from None
        return _pair(tokens, REFUSED)

    @router.post("/refresh", responses=responses(401))
    async def refresh(body: RefreshToken) -> TokenPair:
        """Get the next pair of tokens. A refresh token that comes a second time ends its session."""
        tokens = await sign_in.refresh(body.refresh_token)
        return _pair(tokens, "The session has ended; sign in again.")

    @router.post("/logout", status_code=204, responses=responses())
    async def logout(body: RefreshToken) -> None:
        """End the session, its access tokens included; one that has ended is no error."""
        await sign_in.logout(body.refresh_token)

    @router.get("/me", responses=responses(401))
    async def me(signed_in: Annotated[SignedIn, Depends(user)]) -> Me:
        """Who is signed in."""
        return Me.model_validate(signed_in)

    return router


def _pair(tokens: Tokens | None, refusal: str) -> TokenPair:
    if tokens is None:
        raise HTTPException(401, refusal, CHALLENGE)
    left = tokens.expires_at - datetime.now(UTC)
    return TokenPair(
        access_token=tokens.access_token,
        refresh_token=tokens.refresh_token,
        expires_in=max(0, int(left.total_seconds())),
    )
