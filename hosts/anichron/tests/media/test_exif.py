import io
import json
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pytest
from PIL import ExifTags, Image

from anichron.media.exif import Exif, read_exif
from anichron.media.picture import Picture, develop

EXPECTED: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("exiftool.json").read_text())[
    "photos"
]
DEGREES = {
    1: 0,
    2: 0,
    3: 180,
    4: 180,
    5: 270,
    6: 90,
    7: 90,
    8: 270,
}  # exiftool: "Mirror horizontal and rotate 270 CW"
MIRRORED = {2, 4, 5, 7}

Tags: TypeAlias = dict[int, Any]


def written(base: Tags | None = None, camera: Tags | None = None, gps: Tags | None = None) -> Exif:
    """What is read back of EXIF that a JPEG was saved with."""
    exif = Image.Exif()
    exif.update(base or {})
    exif.get_ifd(ExifTags.IFD.Exif).update(camera or {})
    exif.get_ifd(ExifTags.IFD.GPSInfo).update(gps or {})
    file = io.BytesIO()
    Image.new("RGB", (8, 8)).save(file, "JPEG", exif=exif)
    with Image.open(file) as image:
        return read_exif(image)


def developed(exif: bytes) -> Picture:
    """The picture of a JPEG with these bytes as EXIF."""
    file = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(file, "JPEG", exif=exif)
    return develop(file, max_pixels=100)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_real_photo_reads_as_exiftool_reads_it(photos: Path, name: str) -> None:
    expected = EXPECTED[name]
    with (photos / name).open("rb") as file:
        picture = develop(file, max_pixels=100_000_000)
    exif = picture.exif
    orientation = expected.get("Orientation", 1)
    size = (expected["ImageWidth"], expected["ImageHeight"])
    assert (picture.width, picture.height) == (size if orientation < 5 else size[::-1])
    assert picture.media_type == expected["MIMEType"]
    assert (exif.orientation, exif.mirrored) == (DEGREES[orientation], orientation in MIRRORED)
    assert (exif.make, exif.model, exif.lens) == tuple(
        expected.get(tag) for tag in ("Make", "Model", "LensModel")
    )
    assert exif.latitude == pytest.approx(expected.get("GPSLatitude"), abs=1e-9)
    assert exif.longitude == pytest.approx(expected.get("GPSLongitude"), abs=1e-9)
    assert exif.captured_at == captured(expected)


def captured(expected: dict[str, Any]) -> datetime | None:
    text = expected.get("DateTimeOriginal") or expected.get("CreateDate")
    if text is None:
        return None
    fraction = str(expected.get("SubSecTimeOriginal", 0))
    offset = expected.get("OffsetTimeOriginal", "+00:00")
    return datetime.strptime(f"{text}.{fraction}{offset}", "%Y:%m:%d %H:%M:%S.%f%z")


def test_the_expected_table_is_of_all_photos(photos: Path) -> None:
    files = {str(path.relative_to(photos)) for path in photos.rglob("*") if path.is_file()}
    assert files == set(EXPECTED)
    assert len(files) == 72


def test_a_time_with_an_offset_is_that_instant() -> None:
    exif = written(camera={36867: "2021:04:11 15:47:53", 36881: "-05:30", 37521: "054"})
    assert exif.captured_at == datetime(2021, 4, 11, 21, 17, 53, 54_000, tzinfo=UTC)
    assert exif.utc_offset == -330


def test_a_time_without_an_offset_is_the_wall_clock_read_as_utc() -> None:
    exif = written(camera={36867: "2021:04:11 15:47:53"})
    assert exif.captured_at == datetime(2021, 4, 11, 15, 47, 53, tzinfo=UTC)
    assert exif.utc_offset is None


def test_the_time_of_digitising_stands_in_for_a_missing_one_but_that_of_the_last_save_does_not() -> None:
    assert written(base={306: "2020:01:01 00:00:00"}).captured_at is None
    exif = written(base={306: "2020:01:01 00:00:00"}, camera={36868: "1999:12:31 23:59:59", 36882: "+01:00"})
    assert exif.captured_at == datetime(1999, 12, 31, 22, 59, 59, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "0000:00:00 00:00:00",
        "    :  :     :  :  ",
        "2021:02:30 10:00:00",
        "2021:01:01 25:00:00",
        "",
        "soon",
        7,
    ],
)
def test_a_time_that_is_none_is_none(text: Any) -> None:
    assert written(camera={36867: text}).captured_at is None


def test_an_offset_that_leaves_the_calendar_costs_the_time_only() -> None:
    exif = written(base={271: "Maker"}, camera={36867: "0001:01:01 00:00:00", 36881: "+14:00"})
    assert (exif.captured_at, exif.make) == (None, "Maker")


def test_south_and_west_are_negative_decimal_degrees() -> None:
    exif = written(gps={1: "S", 2: (33.0, 51.0, 36.0), 3: "W", 4: (70.0, 30.0, 0.0)})
    assert exif.latitude == pytest.approx(-33.86)
    assert exif.longitude == pytest.approx(-70.5)


@pytest.mark.parametrize(
    "gps",
    [
        {1: "N", 2: (91.0, 0.0, 0.0), 3: "E", 4: (10.0, 0.0, 0.0)},
        {1: "N", 2: (45.0, 0.0, 0.0)},
        {1: "N", 2: (45.0, 0.0), 3: "E", 4: (10.0, 0.0, 0.0)},
    ],
)
def test_a_position_that_is_none_is_none(gps: Tags) -> None:
    exif = written(gps=gps)
    assert (exif.latitude, exif.longitude) == (None, None)


def test_a_position_of_fractions_by_nothing_is_none() -> None:
    exif = Image.Exif()
    exif.get_ifd(ExifTags.IFD.GPSInfo).update(
        {1: "N", 2: (Fraction(7, 9),) * 3, 3: "E", 4: (Fraction(7, 9),) * 3}
    )
    order: Literal["little", "big"] = "little" if exif.tobytes()[6:8] == b"II" else "big"
    seven_by_nine = b"".join(number.to_bytes(4, order) for number in (7, 9))
    assert exif.tobytes().count(seven_by_nine) == 6
    assert developed(exif.tobytes()).exif.latitude == pytest.approx(7 / 9 * (1 + 1 / 60 + 1 / 3600))
    broken = exif.tobytes().replace(seven_by_nine, bytes(8))
    assert developed(broken).exif.latitude is None


def test_text_is_cleaned_of_padding_and_what_cannot_be_printed_and_cut() -> None:
    assert written(base={271: "Canon\0\0 junk", 272: "  EOS\x07 40D  "}).make == "Canon"
    assert written(base={272: "  EOS\x07 40D  "}).model == "EOS 40D"
    assert written(base={271: "   "}).make is None
    assert len(written(base={271: "x" * 10_000}).make or "") == 255


def test_utf8_in_a_text_field_is_read_as_such() -> None:
    assert written(base={271: "Zündapp".encode()}).make == "Zündapp"


@pytest.mark.parametrize("orientation", [0, 9, 65_535])
def test_an_orientation_that_is_none_is_upright(orientation: int) -> None:
    exif = written(base={274: orientation})
    assert (exif.orientation, exif.mirrored) == (0, False)


@pytest.mark.parametrize(
    "junk", [b"", b"Exif\0\0", b"Exif\0\0II*\0\xff\xff\xff\xff", b"Exif\0\0MM\0*\0\0\0\x08\xff\xff"]
)
def test_damaged_exif_does_not_cost_the_picture(junk: bytes) -> None:
    picture = developed(junk)
    assert picture.exif == Exif()
    assert picture.width == 8
