"""Admins look after users."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import psycopg
from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from anichron.api.guard import Require, never_store
from anichron.api.text import Email, NewPassword, Username
from anichron.identity.passwords import made_up
from anichron.identity.users import LastAdmin, Users
from treadle.admin.problem import ProblemError, ProblemRoute, responses

_MISSING: Final = "There is no such user."


class UserShape(BaseModel):
    """A user."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    username: str
    email: str | None
    is_admin: bool
    created_at: datetime
    disabled_at: datetime | None = Field(description="Since when they cannot sign in; null: they can.")


class UserList(BaseModel):
    """Every user, by name."""

    users: Sequence[UserShape]


class NewUser(BaseModel):
    """A user to make."""

    username: Username
    email: Email | None = None
    password: NewPassword | None = Field(default=None, description="Without one it is made up.")
    is_admin: bool = False


class MadeUser(UserShape):
    """A user who was made just now."""

    password: str | None = Field(description="The password that was made up; it is told only now.")


class UserChange(BaseModel):
    """Whether a user can sign in."""

    disabled: bool = Field(description="True also ends all their sessions.")


class PasswordReset(BaseModel):
    """A user's next password."""

    password: NewPassword | None = Field(default=None, description="Without one it is made up.")


class PasswordAnswer(BaseModel):
    """What came of a reset."""

    password: str | None = Field(description="The password that was made up; it is told only now.")


class UserRoutes:
    """What admins do to users."""

    def __init__(self, users: Users) -> None:
        self._users = users

    async def list(self) -> UserList:
        """Every user, by name."""
        profiles = await self._users.profiles()
        return UserList(users=[UserShape.model_validate(profile) for profile in profiles])

    async def make(self, body: NewUser) -> MadeUser:
        """Make a user."""
        password = body.password or made_up()
        try:
            made = await self._users.add(
                body.username, password=password, email=body.email, is_admin=body.is_admin
            )
        except psycopg.errors.CheckViolation:
            raise ProblemError(422, "The name or the address has characters that it cannot have.") from None
        if made is None:
            raise ProblemError(409, "The name or the address is another user's.")
        shape = await self.read(made.id)
        return MadeUser(**shape.model_dump(), password=None if body.password else password)

    async def read(self, user_id: UUID) -> UserShape:
        """One user."""
        profile = await self._users.profile(user_id)
        if profile is None:
            raise ProblemError(404, _MISSING)
        return UserShape.model_validate(profile)

    async def change(self, user_id: UUID, body: UserChange) -> UserShape:
        """Keep a user out, or let them in again. Their folders are served as before."""
        await self.read(user_id)
        try:
            await (self._users.disable(user_id) if body.disabled else self._users.enable(user_id))
        except LastAdmin:
            raise ProblemError(409, "No other admin can sign in; make or enable one first.") from None
        return await self.read(user_id)

    async def reset_password(self, user_id: UUID, body: PasswordReset) -> PasswordAnswer:
        """Give a user another password, and end all their sessions."""
        password = body.password or made_up()
        if not await self._users.set_password(user_id, password):
            raise ProblemError(404, _MISSING)
        return PasswordAnswer(password=None if body.password else password)


def users_router(users: Users, admin: Require) -> APIRouter:
    """``/admin/users``: list, make, disable, give another password."""
    router = APIRouter(
        prefix="/admin/users",
        tags=["users"],
        route_class=ProblemRoute,
        dependencies=[Depends(admin), Depends(never_store)],
    )
    routes = UserRoutes(users)
    router.get("", responses=responses(), name="List users")(routes.list)
    router.post("", responses=responses(409), name="Make a user", status_code=201)(routes.make)
    router.get("/{user_id}", responses=responses(404), name="Show a user")(routes.read)
    router.patch("/{user_id}", responses=responses(404, 409), name="Disable a user")(routes.change)
    router.post("/{user_id}/password", responses=responses(404), name="Reset a password")(
        routes.reset_password
    )
    return router
