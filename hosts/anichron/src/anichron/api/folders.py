"""Admins look after the folders that are crawled: storage configs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field

from anichron.api.guard import Require, never_store
from anichron.api.text import RootPath
from anichron.identity.configs import FolderTaken, StorageConfigs, UnknownUser
from treadle.admin.problem import ProblemError, ProblemRoute, responses

_MISSING: Final = "There is no such storage config."


class ConfigShape(BaseModel):
    """A storage config: one user's folder."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID = Field(description="Also the scope of its work items.")
    user_id: UUID
    root_path: str = Field(description="The folder, as workers see it.")
    is_active: bool = Field(description="Whether workers serve it.")


class ConfigList(BaseModel):
    """Storage configs, the oldest first."""

    storage_configs: Sequence[ConfigShape]


class NewConfig(BaseModel):
    """A storage config to make."""

    user_id: UUID
    root_path: RootPath


class ConfigChange(BaseModel):
    """Whether workers serve it."""

    is_active: bool


def folders_router(configs: StorageConfigs, admin: Require) -> APIRouter:
    """``/admin/storage-configs``: list, make, activate, deactivate, delete."""
    router = APIRouter(
        prefix="/admin/storage-configs",
        tags=["storage configs"],
        route_class=ProblemRoute,
        dependencies=[Depends(admin), Depends(never_store)],
    )

    @router.get("", responses=responses())
    async def list_configs(user_id: Annotated[UUID | None, Query()] = None) -> ConfigList:
        """The storage configs of one user, or of everybody."""
        return ConfigList(
            storage_configs=[ConfigShape.model_validate(config) for config in await configs.all(user_id)]
        )

    @router.post("", status_code=201, responses=responses(404, 409))
    async def make_config(body: NewConfig) -> ConfigShape:
        """Give a user a folder; workers crawl it within seconds. A folder that the user has already stays as it is.

        A folder belongs to one user, and may not lie in or around one of another user.
        """
        try:
            return ConfigShape.model_validate(await configs.ensure(body.user_id, Path(body.root_path)))
        except FolderTaken:
            raise ProblemError(
                409,
                "The folder belongs to another user, in whole or in part; give each user one of their own.",
            ) from None
        except UnknownUser:
            raise ProblemError(404, "There is no such user.") from None

    @router.patch("/{config_id}", responses=responses(404))
    async def change_config(config_id: UUID, body: ConfigChange) -> ConfigShape:
        """Have workers serve it, or leave it alone; its part of the library stays."""
        config = await configs.set_active(config_id, is_active=body.is_active)
        if config is None:
            raise ProblemError(404, _MISSING)
        return ConfigShape.model_validate(config)

    @router.delete("/{config_id}", status_code=204, responses=responses(404))
    async def delete_config(config_id: UUID) -> None:
        """Delete it, with its part of the library and its work items. The photos themselves are not touched."""
        if not await configs.delete(config_id):
            raise ProblemError(404, _MISSING)

    return router
