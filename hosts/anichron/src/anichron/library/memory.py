"""The library in memory, for tests that need no database."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID, uuid4

from anichron.library.asset import Asset, CapturedFrom, KnownFile, MediaFile, Role
from anichron.library.library import StorageConfigGone


class MemoryLibrary:
    """A `Library` of the given storage configs; what it holds is there to be looked at."""

    def __init__(self, *config_ids: UUID) -> None:
        self.config_ids = set(config_ids)
        self.assets: dict[tuple[UUID, str], UUID] = {}
        self.details: dict[UUID, Asset] = {}
        self.files: dict[tuple[UUID, str], KnownFile] = {}
        self.roles: dict[tuple[UUID, str], Role] = {}

    async def known(self, config_id: UUID, paths: Sequence[str]) -> Mapping[str, KnownFile]:
        return {path: self.files[config_id, path] for path in paths if (config_id, path) in self.files}

    async def has_files(self, config_id: UUID) -> bool:
        return any(owner == config_id for owner, _ in self.files)

    async def find(self, config_id: UUID, content_hash: str) -> UUID | None:
        return self.assets.get((config_id, content_hash))

    async def add(self, config_id: UUID, asset: Asset, files: Sequence[MediaFile]) -> UUID:
        self._check(config_id)
        asset_id = self.assets.setdefault((config_id, asset.content_hash), uuid4())
        known = self.details.get(asset_id)
        if known and known.captured_from is asset.captured_from is CapturedFrom.FILE:
            asset = replace(asset, captured_at=min(known.captured_at, asset.captured_at))
        self.details[asset_id] = asset
        self._save(config_id, asset_id, files)
        return asset_id

    async def attach(
        self, config_id: UUID, asset_id: UUID, files: Sequence[MediaFile], file_time: datetime
    ) -> None:
        self._check(config_id)
        known = self.details[asset_id]
        if known.captured_from is CapturedFrom.FILE:
            self.details[asset_id] = replace(known, captured_at=min(known.captured_at, file_time))
        self._save(config_id, asset_id, files)

    def _check(self, config_id: UUID) -> None:
        if config_id not in self.config_ids:
            raise StorageConfigGone(config_id)

    def _save(self, config_id: UUID, asset_id: UUID, files: Sequence[MediaFile]) -> None:
        for file in files:
            self.files[config_id, file.path] = KnownFile(asset_id, file.stamp)
            self.roles[config_id, file.path] = file.role
