"""An asset: one picture of a storage config, with the files that show it and the proxies made of it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from anichron.media.fingerprint import Stamp
from anichron.media.picture import Picture, Variant


class CapturedFrom(StrEnum):
    EXIF = "exif"
    FILE = "file"


class Role(StrEnum):
    PHOTO = "photo"
    LIVE_VIDEO = "live-video"


@dataclass(frozen=True, slots=True)
class ProxyFile:
    variant: Variant
    path: str
    """Under the proxy folder, with slashes."""
    width: int
    height: int
    byte_size: int


@dataclass(frozen=True, slots=True)
class Asset:
    content_hash: str
    byte_size: int
    picture: Picture
    captured_at: datetime
    captured_from: CapturedFrom
    proxies: tuple[ProxyFile, ...]


@dataclass(frozen=True, slots=True)
class MediaFile:
    path: str
    """Under the storage config's root, as the system gives it: bytes that are no UTF-8 are surrogates."""
    stamp: Stamp
    role: Role = Role.PHOTO


@dataclass(frozen=True, slots=True)
class KnownFile:
    asset_id: UUID
    stamp: Stamp
