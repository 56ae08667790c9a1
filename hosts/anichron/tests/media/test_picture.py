import io
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pillow_heif
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageChops, ImageStat, UnidentifiedImageError

from anichron.media.errors import FileFailed, Reason
from anichron.media.picture import Picture, Variant, develop, fitted

LIMIT = 50_000_000
RED, WHITE = (255, 0, 0), (255, 255, 255)
DIGITS = (
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~"  # of a blurhash
)


def saved(image: Image.Image, form: str, **options: Any) -> Picture:
    file = io.BytesIO()
    image.save(file, form, **options)
    return develop(file, max_pixels=LIMIT)


def proxy(picture: Picture, variant: Variant = Variant.PREVIEW) -> Image.Image:
    (rendition,) = (rendition for rendition in picture.renditions if rendition.variant is variant)
    image = Image.open(io.BytesIO(rendition.data))
    image.load()
    assert (image.format, image.mode) == ("JPEG", "RGB")
    assert image.size == (rendition.width, rendition.height)
    return image


def centre(picture: Picture) -> tuple[int, ...]:
    image = proxy(picture)
    found = image.getpixel((image.width // 2, image.height // 2))
    assert isinstance(found, tuple)
    return found


def near(colour: tuple[int, ...], tolerance: int = 3) -> Any:
    return pytest.approx(colour, abs=tolerance)


@pytest.mark.parametrize("shape", ["landscape", "portrait"])
def test_each_orientation_shows_the_same_picture_upright(photos: Path, shape: str) -> None:
    shown = []
    for orientation in range(1, 9):
        with (photos / f"jpg/orientation/{shape}_{orientation}.jpg").open("rb") as file:
            picture = develop(file, max_pixels=LIMIT)
        assert (picture.width, picture.height) == ((600, 450) if shape == "landscape" else (450, 600))
        shown.append((proxy(picture), proxy(picture, Variant.THUMBNAIL)))
    for preview, thumbnail in shown[1:]:
        for image, upright in ((preview, shown[0][0]), (thumbnail, shown[0][1])):
            assert image.size == upright.size
            assert apart(image, upright) < 6  # as they were retouched; a wrong turn is over 25 apart


def test_a_proxy_that_is_turned_wrongly_would_be_noticed(photos: Path) -> None:
    with (photos / "jpg/orientation/landscape_1.jpg").open("rb") as file:
        upright = proxy(develop(file, max_pixels=LIMIT))
    for turn in (
        Image.Transpose.FLIP_LEFT_RIGHT,
        Image.Transpose.ROTATE_180,
        Image.Transpose.FLIP_TOP_BOTTOM,
    ):
        assert apart(upright.transpose(turn), upright) > 25


def apart(one: Image.Image, other: Image.Image) -> float:
    """The mean difference of two pictures' pixels (0 to 255), seen from far enough not to see the grain."""
    far = [image.resize((60, 60), Image.Resampling.BOX) for image in (one, other)]
    return max(ImageStat.Stat(ImageChops.difference(*far)).mean)


@pytest.mark.parametrize(
    ("size", "thumbnail", "preview"),
    [
        ((6000, 4000), (300, 200), (1920, 1280)),
        ((4000, 6000), (300, 450), (1280, 1920)),
        ((1920, 1080), (300, 169), (1920, 1080)),
        ((640, 480), (300, 225), (640, 480)),
        ((120, 90), (120, 90), (120, 90)),
        ((1, 1), (1, 1), (1, 1)),
        ((8000, 2), (300, 1), (1920, 1)),
        ((1000, 60_000), (32, 1920), (32, 1920)),  # a thumbnail is never taller than the preview
    ],
)
def test_proxies_are_scaled_down_and_never_up(
    size: tuple[int, int], thumbnail: tuple[int, int], preview: tuple[int, int]
) -> None:
    picture = develop(filed(Image.new("RGB", size, "gray"), "PNG"), max_pixels=100_000_000)
    assert (picture.width, picture.height) == size
    assert proxy(picture, Variant.THUMBNAIL).size == thumbnail
    assert proxy(picture, Variant.PREVIEW).size == preview


def filed(image: Image.Image, form: str, **options: Any) -> io.BytesIO:
    file = io.BytesIO()
    image.save(file, form, **options)
    return file


@given(st.tuples(*[st.integers(1, 100_000)] * 2), st.integers(1, 2000), st.integers(1, 2000))
def test_a_fitted_size_is_inside_its_box_and_as_large_as_that_allows(
    size: tuple[int, int], width: int, height: int
) -> None:
    fit = fitted(size, width, height)
    assert 1 <= fit[0] <= min(width, size[0])
    assert 1 <= fit[1] <= min(height, size[1])
    assert fit == size or fit[0] == width or fit[1] == height


def test_a_jpeg_decoded_at_a_fraction_of_its_size_looks_the_same() -> None:
    stripes = Image.linear_gradient("L").resize((4000, 3000)).convert("RGB")
    from_jpeg, from_png = saved(stripes, "JPEG", quality=95), saved(stripes, "PNG")
    difference = ImageStat.Stat(ImageChops.difference(proxy(from_jpeg), proxy(from_png)))
    assert max(difference.mean) < 1.5


@pytest.mark.parametrize(("variant", "quality"), [(Variant.THUMBNAIL, 75), (Variant.PREVIEW, 85)])
def test_proxies_have_the_quality_they_should(variant: Variant, quality: int) -> None:
    # The quantisation table of the JPEG standard, annex K, scaled by libjpeg's rule for a quality of 50 and more.
    first_of_annex_k = [16, 11, 10, 16, 24, 40, 51, 61]
    expected = [(value * (200 - 2 * quality) + 50) // 100 for value in first_of_annex_k]
    tables: dict[int, list[int]] = vars(proxy(saved(Image.new("RGB", (400, 400)), "PNG"), variant))[
        "quantization"
    ]
    assert tables[0][:8] == expected


def test_proxies_carry_nothing_of_the_original_but_its_picture() -> None:
    exif = Image.Exif()
    exif[271] = "SecretMaker"
    exif.get_ifd(0x8825).update({1: "N", 2: (48.0, 8.0, 0.0), 3: "E", 4: (11.0, 34.0, 0.0)})
    xmp = b"<x:xmpmeta xmlns:x='adobe:ns:meta/'>SecretPlace</x:xmpmeta>"
    image = Image.new("RGB", (400, 300), "green")
    picture = saved(image, "JPEG", exif=exif, comment=b"SecretComment", xmp=xmp, dpi=(300, 300))
    assert picture.exif.make == "SecretMaker"
    assert picture.exif.latitude is not None
    for variant in Variant:
        shown = proxy(picture, variant)
        assert not set(shown.info) - {"jfif", "jfif_version", "jfif_unit", "jfif_density"}
        assert not shown.getexif()
    assert not any(b"Secret" in rendition.data for rendition in picture.renditions)


def test_the_same_content_gives_the_same_bytes() -> None:
    image = Image.effect_noise((900, 700), 80).convert("RGB")
    assert saved(image, "JPEG") == saved(image, "JPEG")


@pytest.mark.parametrize(
    ("form", "options", "media_type"),
    [
        ("JPEG", {"quality": 95}, "image/jpeg"),
        ("PNG", {}, "image/png"),
        ("TIFF", {"compression": "tiff_lzw"}, "image/tiff"),
        ("WEBP", {"lossless": True}, "image/webp"),
        ("HEIF", {"quality": 95}, "image/heic"),
    ],
)
def test_each_format_is_known_by_its_content(form: str, options: dict[str, Any], media_type: str) -> None:
    pillow_heif.register_heif_opener()
    picture = saved(Image.new("RGB", (64, 48), "red"), form, **options)
    assert picture.media_type == media_type
    assert centre(picture) == near(RED, 6)


def test_a_jpeg_with_further_pictures_behind_it_shows_the_first() -> None:
    file = io.BytesIO()
    Image.new("RGB", (64, 48), "red").save(
        file, "MPO", save_all=True, append_images=[Image.new("RGB", (8, 8))]
    )
    picture = develop(file, max_pixels=LIMIT)
    assert (picture.media_type, picture.width) == ("image/jpeg", 64)
    assert centre(picture) == near(RED)


@pytest.mark.parametrize("form", ["GIF", "BMP", "PPM", "ICO", "AVIF"])
def test_a_format_that_is_not_supported_is_refused(form: str) -> None:
    with pytest.raises(UnidentifiedImageError):
        saved(Image.new("RGB", (64, 48)), form)


HALF_RED = (255, 0, 0, 128)


@pytest.mark.parametrize(
    ("make", "form", "expected"),
    [
        (lambda: Image.new("L", (64, 64), 100), "PNG", (100, 100, 100)),
        (lambda: Image.new("1", (64, 64), 1), "PNG", WHITE),
        (lambda: Image.new("I;16", (64, 64), 0x8000), "PNG", (128, 128, 128)),
        (lambda: Image.new("I;16", (64, 64), 0x4000), "TIFF", (64, 64, 64)),
        (lambda: Image.new("RGBA", (64, 64), HALF_RED), "PNG", (255, 127, 127)),
        (lambda: Image.new("RGBA", (64, 64), (0, 0, 0, 0)), "WEBP", WHITE),
        (lambda: Image.new("LA", (64, 64), (0, 0)), "PNG", WHITE),
        (lambda: Image.new("RGB", (64, 64), "red").quantize(4), "PNG", RED),
        (lambda: Image.new("CMYK", (64, 64), (0, 255, 255, 0)), "JPEG", RED),
        (lambda: Image.new("CMYK", (64, 64), (0, 255, 255, 0)), "TIFF", RED),
        # The CIE L*a*b* of sRGB red under D50, as the ICC has it: 54.29, 80.81, 69.89; bytes of 255/100, and 128 more.
        (lambda: Image.new("LAB", (64, 64), (138, 209, 198)), "TIFF", RED),
    ],
)
def test_every_kind_of_pixel_becomes_what_a_viewer_shows(
    make: Callable[[], Image.Image], form: str, expected: tuple[int, ...]
) -> None:
    assert centre(saved(make(), form)) == near(expected, 6)


@pytest.mark.parametrize("mode", ["I", "F"])
def test_values_without_a_scale_reach_from_black_to_white(mode: str) -> None:
    image = Image.new(mode, (96, 64), 1000)
    image.paste(2000, (32, 0, 64, 64))
    image.paste(3000, (64, 0, 96, 64))
    shown = proxy(saved(image, "TIFF"))
    for x, expected in ((16, 0), (48, 128), (80, 255)):
        assert shown.getpixel((x, 32)) == near((expected,) * 3)
    assert centre(saved(Image.new(mode, (64, 64), 5), "TIFF")) == (0, 0, 0)


def test_palette_transparency_shows_white() -> None:
    image = Image.new("P", (64, 64), 0)
    image.putpalette([255, 0, 0])
    assert centre(saved(image, "PNG", transparency=0)) == near(WHITE)


def test_a_wide_colour_space_is_converted_to_srgb(photos: Path) -> None:
    with Image.open(photos / "heic/IMG_5195.HEIC") as phone:
        display_p3 = phone.info["icc_profile"]
    # sRGB's red in Display P3 is 0.9175, 0.2003, 0.1386.
    image = Image.new("RGB", (64, 64), (234, 51, 35))
    assert centre(saved(image, "PNG", icc_profile=display_p3)) == near(RED, 4)
    assert centre(saved(image, "PNG")) == near((234, 51, 35))


def test_a_profile_that_is_damaged_or_does_not_fit_is_passed_over(photos: Path) -> None:
    with Image.open(photos / "heic/IMG_5195.HEIC") as phone:
        display_p3 = phone.info["icc_profile"]
    assert centre(saved(Image.new("RGB", (64, 64), "red"), "PNG", icc_profile=b"junk" * 50)) == near(RED)
    assert centre(saved(Image.new("L", (64, 64), 100), "PNG", icc_profile=display_p3)) == near((100,) * 3)


@pytest.mark.parametrize("size", [(1, 1), (300, 200), (2000, 10)])
def test_a_blurhash_has_four_by_three_components_and_the_mean_colour(size: tuple[int, int]) -> None:
    blurhash = saved(Image.new("RGB", size, (12, 200, 90)), "PNG").blurhash
    assert len(blurhash) == 28
    assert DIGITS.index(blurhash[0]) == (4 - 1) + (3 - 1) * 9
    mean = 0
    for digit in blurhash[2:6]:
        mean = mean * 83 + DIGITS.index(digit)
    assert (mean >> 16, mean >> 8 & 255, mean & 255) == near((12, 200, 90), 2)


def test_more_pixels_than_allowed_are_refused_before_they_are_decoded() -> None:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", 60_000, 60_000, 1, 0, 0, 0, 0)
    bomb = (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(bytes(1000)))
        + chunk(b"IEND", b"")
    )
    with pytest.raises(FileFailed) as failed:
        develop(io.BytesIO(bomb), max_pixels=LIMIT)
    assert failed.value.reason is Reason.TOO_LARGE


def test_every_photo_has_a_thumbnail_and_a_preview(photos: Path) -> None:
    for path in photos.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                picture = develop(file, max_pixels=LIMIT)
            assert {rendition.variant for rendition in picture.renditions} == set(Variant)
            assert proxy(picture, Variant.THUMBNAIL).width == min(300, picture.width)
            assert max(proxy(picture).size) == min(1920, max(picture.width, picture.height))
