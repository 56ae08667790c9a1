"""Photos for those who have none at hand: made on the spot, with what a camera would write into them."""

from __future__ import annotations

import math
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from PIL import Image, ImageDraw
from PIL.Image import Exif

COUNT: Final = 36
_SIZE: Final = (1600, 1200)
_CAMERAS: Final = (
    ("Canon", "EOS R6", "RF24-105mm F4 L IS USM"),
    ("Apple", "iPhone 13", "iPhone 13 back camera"),
)
_BEGIN: Final = datetime(2024, 5, 17, 9, 30, tzinfo=UTC)

_EXIF_IFD, _GPS_IFD = 0x8769, 0x8825
_ORIENTATION, _MAKE, _MODEL = 0x0112, 0x010F, 0x0110
_TAKEN, _LENS = 0x9003, 0xA434


def make_sample(folder: Path, *, count: int = COUNT) -> Path:
    """The folder of sample photos, made unless it is there; a run that was cut short leaves none."""
    if not folder.is_dir():
        fresh = folder.with_name(f"{folder.name}.new")
        shutil.rmtree(fresh, ignore_errors=True)
        for number in range(count):
            taken = _BEGIN + timedelta(days=number * 9, minutes=number * 47)
            album = fresh / f"{taken:%Y-%m}"
            album.mkdir(parents=True, exist_ok=True)
            _photo(number).save(album / f"IMG_{number:04}.jpg", quality=88, exif=_exif(number, taken))
        fresh.rename(folder)
    return folder


def _photo(number: int) -> Image.Image:
    """A sky over hills, no two alike."""
    width, height = _SIZE
    picture = Image.linear_gradient("L").resize(_SIZE)
    sky = [
        picture.point([min(255, low + value * span // 255) for value in range(256)])
        for low, span in _hues(number)
    ]
    image = Image.merge("RGB", sky)
    draw = ImageDraw.Draw(image)
    sun = (200 + number * 173 % 1200, 150 + number * 71 % 300)
    draw.ellipse((sun[0] - 70, sun[1] - 70, sun[0] + 70, sun[1] + 70), fill=(255, 236, 170))
    for layer in range(3):
        base = height * (6 + layer) // 10
        ridge = [
            (x, base + round(60 * math.sin(x / (170 + 40 * layer) + number + layer)))
            for x in range(0, width + 20, 20)
        ]
        shade = 110 - layer * 30
        draw.polygon([*ridge, (width, height), (0, height)], fill=(shade // 2, shade, shade * 2 // 3))
    return image


def _hues(number: int) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    return ((40 + number * 37 % 120, 90), (90 + number * 17 % 80, 80), (150 + number * 7 % 60, 40))


def _exif(number: int, taken: datetime) -> Exif:
    make, model, lens = _CAMERAS[number % len(_CAMERAS)]
    exif = Image.Exif()
    exif[_MAKE], exif[_MODEL] = make, model
    exif[_ORIENTATION] = (1, 1, 1, 6, 3, 8)[number % 6]
    exif.get_ifd(_EXIF_IFD).update({_TAKEN: f"{taken:%Y:%m:%d %H:%M:%S}", _LENS: lens})
    if number % 3:
        exif.get_ifd(_GPS_IFD).update(
            {1: "N", 2: (46.0, float(number), 12.5), 3: "E", 4: (7.0, 30.0, float(number))}
        )
    return exif
