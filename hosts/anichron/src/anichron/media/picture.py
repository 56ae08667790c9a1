"""From a file's bytes to what the library keeps of it: what the picture is, its proxies and its blurhash."""

import io
import warnings
from enum import StrEnum
from typing import BinaryIO, cast

import blurhash_rs
import pillow_heif
from PIL import Image, ImageCms
from pydantic import BaseModel, ConfigDict

from anichron.media.errors import FileFailed, Reason
from anichron.media.exif import Exif, pending_orientation, read_exif

pillow_heif.register_heif_opener()
pillow_heif.options.DECODE_THREADS = 1  # the processes use the cores
Image.MAX_IMAGE_PIXELS = None  # `develop` has a limit of its own

# What Pillow calls the formats, and what the web does. Which one a file has is read from its content.
MEDIA_TYPES = {
    "JPEG": "image/jpeg",
    "MPO": "image/jpeg",  # a JPEG with further ones behind it, as phones write them; the first is the picture
    "HEIF": "image/heic",
    "PNG": "image/png",
    "TIFF": "image/tiff",
    "WEBP": "image/webp",
}
OPENED = tuple(name for name in MEDIA_TYPES if name != "MPO")  # which the opener of JPEG finds
THUMBNAIL_WIDTH, THUMBNAIL_QUALITY = 300, 75
PREVIEW_SIDE, PREVIEW_QUALITY = 1920, 85
SAMPLE_SIDE = 64

_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,  # Pillow turns counterclockwise
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


class Variant(StrEnum):
    THUMBNAIL = "thumbnail"
    """300 px wide, JPEG quality 75."""
    PREVIEW = "preview"
    """1920 px on its longer side, JPEG quality 85."""


class Rendition(BaseModel):
    """One proxy's JPEG: upright, sRGB, no metadata, never larger than the original."""

    model_config = ConfigDict(frozen=True, ser_json_bytes="base64", val_json_bytes="base64")

    variant: Variant
    width: int
    height: int
    data: bytes


class Picture(BaseModel):
    model_config = ConfigDict(frozen=True)

    media_type: str
    width: int
    """Pixels as displayed, which is after the orientation is applied."""
    height: int
    exif: Exif
    blurhash: str
    """4 x 3 components of a sample of 64 px on its longer side."""
    renditions: tuple[Rendition, ...]


def develop(file: BinaryIO, *, max_pixels: int) -> Picture:
    """Decode a picture of any supported format. The same content gives the same bytes on every run.

    Raises `FileFailed` for one of more than `max_pixels`, and whatever the decoders raise for one that is damaged.
    """
    # Pillow warns of much that is odd in a file; what counts it raises.
    with warnings.catch_warnings(action="ignore"), Image.open(file, formats=OPENED) as image:
        media_type = MEDIA_TYPES[str(image.format)]
        if image.width * image.height > max_pixels:
            raise FileFailed(Reason.TOO_LARGE, f"{image.width} x {image.height} pixels")
        exif, turn = read_exif(image), pending_orientation(image)
        stored = image.size
        largest = fitted(stored, PREVIEW_SIDE, PREVIEW_SIDE)
        image.draft(
            None, largest
        )  # JPEG only: decodes at a half, a quarter or an eighth, never below `largest`
        flat = _flat(image)
        flat = flat.resize(largest, Image.Resampling.LANCZOS, reducing_gap=3)
        preview = _srgb(flat, image.info.get("icc_profile"))
    if turn in _UPRIGHT:
        preview = preview.transpose(_UPRIGHT[turn])
    width, height = stored if turn < 5 else stored[::-1]
    thumbnail = _fit(preview, THUMBNAIL_WIDTH, PREVIEW_SIDE)
    return Picture(
        media_type=media_type,
        width=width,
        height=height,
        exif=exif,
        blurhash=blurhash_rs.blurhash_encode(_fit(thumbnail, SAMPLE_SIDE, SAMPLE_SIDE), 4, 3),
        renditions=(
            _rendition(Variant.THUMBNAIL, thumbnail, THUMBNAIL_QUALITY),
            _rendition(Variant.PREVIEW, preview, PREVIEW_QUALITY),
        ),
    )


def fitted(size: tuple[int, int], width: int, height: int) -> tuple[int, int]:
    """The size scaled down into a box, aspect kept, never up and never to nothing."""
    scale = min(1.0, width / size[0], height / size[1])
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _fit(image: Image.Image, width: int, height: int) -> Image.Image:
    return image.resize(fitted(image.size, width, height), Image.Resampling.LANCZOS)


def _flat(image: Image.Image) -> Image.Image:
    """Eight bits a channel and nothing transparent, which shows on white; colours still the file's own."""
    if image.mode.startswith("I;16"):
        return image.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    if image.mode in {"I", "F"}:
        return _stretched(image)
    if image.has_transparency_data:
        white = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(white, image.convert("RGBA")).convert("RGB")
    if image.mode in {"L", "RGB", "CMYK", "LAB"}:
        image.load()
        return image
    return image.convert("L" if image.mode == "1" else "RGB")


def _stretched(image: Image.Image) -> Image.Image:
    """Values without a scale of their own (32-bit integers, floats), from the least as black to the most as white."""
    values = image.convert("F")
    low, high = cast("tuple[float, float]", values.getextrema())  # one band has one pair
    scale = 255 / (high - low) if high > low else 0.0
    return values.point(lambda value: value * scale - low * scale).convert("L")


def _srgb(image: Image.Image, profile: bytes | None) -> Image.Image:
    if image.mode == "LAB":
        source = ImageCms.createProfile("LAB")
        return _transformed(image, ImageCms.ImageCmsProfile(source))
    if profile:
        try:
            return _transformed(image, ImageCms.ImageCmsProfile(io.BytesIO(profile)))
        except (OSError, ImageCms.PyCMSError):
            pass  # damaged, or made for another colour model than the picture's: shown as if it had none
    return image.convert("RGB")


def _transformed(image: Image.Image, profile: ImageCms.ImageCmsProfile) -> Image.Image:
    target = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB"))
    # None is what a transform in place returns, and this one is not.
    return cast("Image.Image", ImageCms.profileToProfile(image, profile, target, outputMode="RGB"))


def _rendition(variant: Variant, image: Image.Image, quality: int) -> Rendition:
    image.info.clear()  # Pillow would write comments and XMP it finds here
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality)
    return Rendition(variant=variant, width=image.width, height=image.height, data=buffer.getvalue())
