"""What a camera wrote into a picture: place, time, equipment and which way it was held."""

import math
import re
import struct
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from PIL import ExifTags, Image
from pydantic import BaseModel, ConfigDict

TEXT_LIMIT = 255

# EXIF orientation as (clockwise degrees, mirrored): mirror first if so, then turn by that to see it upright.
ORIENTATIONS = {
    1: (0, False),
    2: (0, True),
    3: (180, False),
    4: (180, True),
    5: (270, True),
    6: (90, False),
    7: (90, True),
    8: (270, False),
}

# In order of trust. DateTime is left out: editors rewrite it, so it tells when the file was last saved.
_TIMES = (
    (ExifTags.Base.DateTimeOriginal, ExifTags.Base.OffsetTimeOriginal, ExifTags.Base.SubsecTimeOriginal),
    (ExifTags.Base.DateTimeDigitized, ExifTags.Base.OffsetTimeDigitized, ExifTags.Base.SubsecTimeDigitized),
)
_DATE_TIME = re.compile(r"(\d{4})[:/-](\d\d)[:/-](\d\d)[ T](\d\d):(\d\d):(\d\d)")
_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)")

# What Pillow is known to raise on EXIF that breaks its own rules.
_BROKEN = (
    AttributeError,
    EOFError,
    KeyError,
    IndexError,
    OSError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
)


class Exif(BaseModel):
    """A picture's metadata; what is missing, damaged or out of range is None."""

    model_config = ConfigDict(frozen=True)

    orientation: int = 0
    """Clockwise degrees from the stored to the upright picture: 0, 90, 180 or 270."""
    mirrored: bool = False
    """Whether the stored picture is also mirrored, left to right before it is turned."""
    latitude: float | None = None
    """Decimal degrees, north positive."""
    longitude: float | None = None
    """Decimal degrees, east positive."""
    make: str | None = None
    model: str | None = None
    lens: str | None = None
    captured_at: datetime | None = None
    """When the picture was taken, or digitised. A camera that names no UTC offset has its clock read as UTC,
    so that every worker, in whatever zone, stores the same."""
    utc_offset: int | None = None
    """Minutes east of UTC as the camera says; None where it says nothing and `captured_at` is its wall clock."""


def read_exif(image: Image.Image) -> Exif:
    """Read an opened picture's EXIF. Damaged EXIF costs its own fields only, never the picture."""
    tags = _tags(image)
    camera = _directory(tags, ExifTags.IFD.Exif)
    orientation, mirrored = ORIENTATIONS.get(stored_orientation(image, tags), (0, False))
    latitude, longitude = _position(_directory(tags, ExifTags.IFD.GPSInfo))
    captured_at, utc_offset = _captured(camera)
    return Exif(
        orientation=orientation,
        mirrored=mirrored,
        latitude=latitude,
        longitude=longitude,
        make=_text(tags.get(ExifTags.Base.Make)),
        model=_text(tags.get(ExifTags.Base.Model)),
        lens=_text(camera.get(ExifTags.Base.LensModel)),
        captured_at=captured_at,
        utc_offset=utc_offset,
    )


def pending_orientation(image: Image.Image) -> int:
    """The EXIF orientation that decoding leaves to be applied: for HEIF always 1."""
    value = _tags(image).get(ExifTags.Base.Orientation, 1)
    return value if isinstance(value, int) and value in ORIENTATIONS else 1


def stored_orientation(image: Image.Image, tags: Mapping[int, Any]) -> Any:
    """The EXIF orientation as the file has it; the HEIF decoder applies it and keeps the tag aside."""
    return image.info.get("original_orientation") or tags.get(ExifTags.Base.Orientation, 1)


def _tags(image: Image.Image) -> Image.Exif:
    try:
        return image.getexif()
    except _BROKEN:
        return Image.Exif()


def _directory(tags: Image.Exif, directory: ExifTags.IFD) -> Mapping[int, Any]:
    try:
        return tags.get_ifd(directory)
    except _BROKEN:
        return {}


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    if not isinstance(value, str):
        return None
    with suppress(UnicodeError):  # Pillow reads latin-1; cameras that leave the standard's ASCII write UTF-8
        value = value.encode("latin-1").decode("utf-8")
    readable = "".join(character for character in value.partition("\0")[0] if character.isprintable())
    return readable.strip()[:TEXT_LIMIT] or None


def _captured(camera: Mapping[int, Any]) -> tuple[datetime | None, int | None]:
    for time_tag, offset_tag, fraction_tag in _TIMES:
        wall = _wall_clock(_text(camera.get(time_tag)), _text(camera.get(fraction_tag)))
        if wall is None:
            continue
        offset = _offset(_text(camera.get(offset_tag)))
        try:
            zone = UTC if offset is None else timezone(timedelta(minutes=offset))
            return wall.replace(tzinfo=zone).astimezone(UTC), offset
        except (OverflowError, ValueError):
            continue
    return None, None


def _wall_clock(text: str | None, fraction: str | None) -> datetime | None:
    match = _DATE_TIME.match(text or "")
    if match is None:
        return None
    digits = fraction if fraction and fraction.isascii() and fraction.isdigit() else "0"
    year, month, day, hour, minute, second = match.groups()
    try:
        return datetime.fromisoformat(f"{year}-{month}-{day}T{hour}:{minute}:{second}.{digits[:6]:0<6}")
    except ValueError:  # a camera that was never set writes 0000:00:00
        return None


def _offset(text: str | None) -> int | None:
    match = _OFFSET.fullmatch(text or "")
    if match is None:
        return None
    minutes = int(match[2]) * 60 + int(match[3])
    return -minutes if match[1] == "-" else minutes


def _position(gps: Mapping[int, Any]) -> tuple[float | None, float | None]:
    latitude = _degrees(gps.get(ExifTags.GPS.GPSLatitude), gps.get(ExifTags.GPS.GPSLatitudeRef), "S", 90)
    longitude = _degrees(gps.get(ExifTags.GPS.GPSLongitude), gps.get(ExifTags.GPS.GPSLongitudeRef), "W", 180)
    return (None, None) if latitude is None or longitude is None else (latitude, longitude)


def _degrees(parts: Any, reference: Any, negative: str, limit: int) -> float | None:
    try:
        degrees, minutes, seconds = (float(part) for part in parts)
    except (TypeError, ValueError, ZeroDivisionError):
        return None
    value = degrees + minutes / 60 + seconds / 3600
    if not math.isfinite(value) or value > limit:
        return None
    return -value if (_text(reference) or "").upper().startswith(negative) else value
