"""The library in PostgreSQL."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, LiteralString, TypeVar, cast
from uuid import UUID

from psycopg.errors import ForeignKeyViolation

from anichron.database import Connection, Database, statement
from anichron.library.asset import Asset, KnownFile, MediaFile
from anichron.library.library import StorageConfigGone
from anichron.library.path_text import from_text, to_text
from anichron.media.fingerprint import Stamp
from treadle.errors import StoreUnavailable

logger = logging.getLogger(__name__)

T = TypeVar("T")


class PostgresLibrary:
    """A `Library` on Anichron's database.

    A database that is away (a restart, a lost connection) is waited for up to `patience` seconds for each call, then
    `StoreUnavailable` is raised.
    """

    def __init__(self, database: Database, *, patience: float = 60) -> None:
        self._database = database
        self._patience = patience

    async def known(self, config_id: UUID, paths: Sequence[str]) -> Mapping[str, KnownFile]:
        async def read(connection: Connection) -> Mapping[str, KnownFile]:
            values = {"storage_config_id": config_id, "paths": [to_text(path) for path in paths]}
            cursor = await connection.execute(_sql("known_files"), values)
            return {
                from_text(path): KnownFile(asset_id, Stamp(size=byte_size, mtime_ns=mtime_ns))
                async for path, asset_id, byte_size, mtime_ns in cursor
            }

        return await self._patiently(read)

    async def has_files(self, config_id: UUID) -> bool:
        async def read(connection: Connection) -> bool:
            return bool(await _value(connection, "has_files", {"storage_config_id": config_id}))

        return await self._patiently(read)

    async def find(self, config_id: UUID, content_hash: str) -> UUID | None:
        async def read(connection: Connection) -> UUID | None:
            values = {"storage_config_id": config_id, "content_hash": content_hash}
            return cast("UUID | None", await _value(connection, "find_asset", values))

        return await self._patiently(read)

    async def add(self, config_id: UUID, asset: Asset, files: Sequence[MediaFile]) -> UUID:
        async def write(connection: Connection) -> UUID:
            asset_id = cast(UUID, await _value(connection, "save_asset", _asset_values(config_id, asset)))
            await connection.execute(_sql("save_metadata"), _metadata_values(asset_id, asset))
            for proxy in asset.proxies:
                values = {"path": proxy.path, "width": proxy.width, "height": proxy.height}
                values |= {"asset_id": asset_id, "variant": proxy.variant, "byte_size": proxy.byte_size}
                await connection.execute(_sql("save_proxy"), values)
            await _save_files(connection, config_id, asset_id, files)
            return asset_id

        return await self._patiently(write, config_id)

    async def attach(
        self, config_id: UUID, asset_id: UUID, files: Sequence[MediaFile], file_time: datetime
    ) -> None:
        async def write(connection: Connection) -> None:
            await connection.execute(_sql("lower_file_time"), {"asset_id": asset_id, "file_time": file_time})
            await _save_files(connection, config_id, asset_id, files)

        await self._patiently(write, config_id)

    async def _patiently(
        self, work: Callable[[Connection], Awaitable[T]], config_id: UUID | None = None
    ) -> T:
        """Do the work in one transaction; again, as often as patience allows, while the database is away."""
        loop = asyncio.get_running_loop()
        deadline, pause = loop.time() + self._patience, 0.1
        while True:
            try:
                async with self._database.connection() as connection:
                    return await work(connection)
            except ForeignKeyViolation as error:
                if config_id is None:
                    raise
                raise StorageConfigGone(config_id) from error
            except StoreUnavailable as error:
                if loop.time() + pause > deadline:
                    raise
                logger.warning("Trying again: %s", error)
                await asyncio.sleep(pause * random.uniform(0.5, 1))  # noqa: S311 - jitter is no secret
                pause = min(pause * 2, 5)


def _sql(name: str) -> LiteralString:
    return statement("anichron.library.sql", name)


async def _value(connection: Connection, name: str, values: Mapping[str, Any]) -> Any:
    """The first column of the statement's first row; None without a row."""
    row = await (await connection.execute(_sql(name), values)).fetchone()
    return None if row is None else row[0]


async def _save_files(
    connection: Connection, config_id: UUID, asset_id: UUID, files: Sequence[MediaFile]
) -> None:
    for file in files:
        values = {"storage_config_id": config_id, "asset_id": asset_id, "path": to_text(file.path)}
        values |= {"role": file.role, "byte_size": file.stamp.size, "mtime_ns": file.stamp.mtime_ns}
        await connection.execute(_sql("save_file"), values)


def _asset_values(config_id: UUID, asset: Asset) -> dict[str, Any]:
    return {
        "storage_config_id": config_id,
        "content_hash": asset.content_hash,
        "media_type": asset.picture.media_type,
        "byte_size": asset.byte_size,
        "blurhash": asset.picture.blurhash,
    }


def _metadata_values(asset_id: UUID, asset: Asset) -> dict[str, Any]:
    values = asset.picture.exif.model_dump() | asset.picture.model_dump(include={"width", "height"})
    return values | {
        "asset_id": asset_id,
        "captured_at": asset.captured_at,
        "captured_from": asset.captured_from,
    }
