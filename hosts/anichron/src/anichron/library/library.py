"""What a crawl needs of the library's tables."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from anichron.library.asset import Asset, KnownFile, MediaFile


class StorageConfigGone(Exception):
    """The storage config was deleted while something was being added to it; nothing was added."""

    def __init__(self, config_id: UUID) -> None:
        super().__init__(f"storage config {config_id} does not exist any more")


class Library(Protocol):
    """The assets of every storage config. Each write is whole or nothing, and the same again when repeated."""

    async def known(self, config_id: UUID, paths: Sequence[str]) -> Mapping[str, KnownFile]:
        """Those of the paths that the config has files for, as they were last read."""
        ...

    async def has_files(self, config_id: UUID) -> bool: ...

    async def find(self, config_id: UUID, content_hash: str) -> UUID | None:
        """The config's asset with this content."""
        ...

    async def add(self, config_id: UUID, asset: Asset, files: Sequence[MediaFile]) -> UUID:
        """Add an asset with its files, or bring the one with this content up to date; either way its id.

        Of several files' times the oldest becomes the capture time, so that the order of the files is no matter.
        Raises `StorageConfigGone`.
        """
        ...

    async def attach(
        self, config_id: UUID, asset_id: UUID, files: Sequence[MediaFile], file_time: datetime
    ) -> None:
        """Give an asset further files, or others; `file_time` is the oldest of theirs. Raises `StorageConfigGone`."""
        ...
