"""The folders of originals that are crawled: storage configs, the scopes of Anichron's work."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

import psycopg
from psycopg.rows import class_row

from anichron.database import Database, statement
from treadle.errors import TreadleError

_SQL = "anichron.identity.sql"

_DELETE_SECONDS: Final = 300.0
"""A folder's part of the library may be millions of rows."""


class FolderTaken(TreadleError):
    """The folder is a storage config of somebody else, or lies in one or around one."""

    def __init__(self, root: str) -> None:
        super().__init__(
            f"the folder {root} belongs to another user, in whole or in part; give each user a folder of their own"
        )


class UnknownUser(TreadleError):
    """There is no such user (any more)."""

    def __init__(self, user_id: UUID) -> None:
        super().__init__(f"there is no user {user_id}")


@dataclass(frozen=True, slots=True)
class StorageConfig:
    """One user's folder, at a path as workers see it."""

    id: UUID
    user_id: UUID
    root_path: str
    is_active: bool


class StorageConfigs:
    """Storage configs in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ensure(self, user_id: UUID, root: Path) -> StorageConfig:
        """The user's storage config for *root*, made if there is none; an inactive one stays inactive.

        Raises ``FolderTaken`` when it is another user's, or lies in or around one of theirs: photos must not
        come into a stranger's library. Raises ``UnknownUser``.
        """
        # Not resolved: workers in other containers see the path, not what a link here leads to.
        path = os.path.abspath(root)  # noqa: ASYNC240, PTH100 - touches no disk, follows no link
        path = f"/{path.lstrip('/')}"  # POSIX keeps two slashes at the beginning
        async with self._database.connection() as connection:
            await connection.execute(statement(_SQL, "lock_configs"))
            cursor = connection.cursor(row_factory=class_row(StorageConfig))
            try:
                await cursor.execute(
                    statement(_SQL, "ensure_config"), {"user_id": user_id, "root_path": path}
                )
            except psycopg.errors.ForeignKeyViolation:
                raise UnknownUser(user_id) from None
            config = await cursor.fetchone()
        if config is None:
            raise FolderTaken(path)
        return config

    async def find(self, config_id: UUID) -> StorageConfig | None:
        """One storage config, None when there is none (any more)."""
        async with self._database.connection() as connection:
            cursor = connection.cursor(row_factory=class_row(StorageConfig))
            await cursor.execute(statement(_SQL, "find_config"), {"id": config_id})
            return await cursor.fetchone()

    async def active(self, user_id: UUID | None = None) -> Sequence[StorageConfig]:
        """The active storage configs of one user, or of everybody."""
        async with self._database.connection() as connection:
            cursor = connection.cursor(row_factory=class_row(StorageConfig))
            await cursor.execute(statement(_SQL, "active_configs"), {"user_id": user_id})
            return await cursor.fetchall()

    async def all(self, user_id: UUID | None = None) -> Sequence[StorageConfig]:
        """The storage configs of one user, or of everybody, inactive ones too."""
        async with self._database.connection() as connection:
            cursor = connection.cursor(row_factory=class_row(StorageConfig))
            await cursor.execute(statement(_SQL, "all_configs"), {"user_id": user_id})
            return await cursor.fetchall()

    async def set_active(self, config_id: UUID, *, is_active: bool) -> StorageConfig | None:
        """Have it served by workers or not; None when there is none."""
        async with self._database.connection() as connection:
            cursor = connection.cursor(row_factory=class_row(StorageConfig))
            values = {"id": config_id, "is_active": is_active}
            await cursor.execute(statement(_SQL, "set_config_active"), values)
            return await cursor.fetchone()

    async def delete(self, config_id: UUID) -> bool:
        """Delete it with its part of the library and its work items, running ones too; False when there is none."""
        async with self._database.connection(seconds=_DELETE_SECONDS) as connection:
            cursor = await connection.execute(statement(_SQL, "delete_config"), {"id": config_id})
            return cursor.rowcount > 0
