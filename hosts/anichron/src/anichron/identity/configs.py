"""The folders of originals that are crawled: storage configs, the scopes of Anichron's work."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from psycopg.rows import class_row

from anichron.database import Database, statement
from treadle.errors import TreadleError

_SQL = "anichron.identity.sql"


class FolderTaken(TreadleError):
    """The folder is a storage config of somebody else."""

    def __init__(self, root: str) -> None:
        super().__init__(f"the folder {root} belongs to another user; give each user a folder of their own")


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

        Raises ``FolderTaken`` when it is another user's.
        """
        # Not resolved: workers in other containers see the path, not what a link here leads to.
        path = os.path.abspath(root)  # noqa: ASYNC240, PTH100 - touches no disk, follows no link
        async with self._database.connection() as connection:
            cursor = connection.cursor(row_factory=class_row(StorageConfig))
            await cursor.execute(statement(_SQL, "ensure_config"), {"user_id": user_id, "root_path": path})
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
