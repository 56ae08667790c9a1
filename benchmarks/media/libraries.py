"""Time the candidate libraries for decoding, EXIF and blurhash on a folder of real photos; print ratios.

Not part of any environment of the project: install what is compared into a scratch one first,
`pip install pillow pillow-heif exifread 'pyvips[binary]' blurhash blurhash-python blurhash-rs fast-blurhash`,
then `python benchmarks/media/libraries.py PHOTOS`.
"""

import io
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image, ImageOps

PREVIEW, THUMBNAIL = (1920, 1920), (300, 1920)


def jpeg(image: Image.Image, quality: int) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()


def pillow(path: Path, *, draft: bool) -> None:
    with Image.open(path) as image:
        if draft:
            image.draft("RGB", PREVIEW)
        upright = ImageOps.exif_transpose(image).convert("RGB")
    upright.thumbnail(PREVIEW, Image.Resampling.LANCZOS, reducing_gap=3)
    jpeg(upright, 85)
    upright.thumbnail(THUMBNAIL, Image.Resampling.LANCZOS)
    jpeg(upright, 75)


def vips(path: Path) -> None:
    import pyvips

    preview = pyvips.Image.thumbnail(str(path), 1920, height=1920, size="down").copy_memory()
    preview.jpegsave_buffer(Q=85)
    preview.thumbnail_image(300, height=1920, size="down").jpegsave_buffer(Q=75)


def exif_pillow(path: Path) -> None:
    with Image.open(path) as image:
        exif = image.getexif()
        exif.get_ifd(0x8769), exif.get_ifd(0x8825)


def exif_exifread(path: Path) -> None:
    import exifread

    with path.open("rb") as file:
        exifread.process_file(file, details=False)


def blurhashes() -> dict[str, Callable[[Image.Image], str]]:
    """Every library by name, each from an RGB sample to 4 x 3 components.

    `blurhash` (pure Python) and `blurhash-python` (C) install the same module and cannot stand side by side.
    """
    import blurhash
    import blurhash_rs
    import fast_blurhash

    def installed(sample: Image.Image) -> str:
        if hasattr(blurhash, "components"):
            return str(blurhash.encode(numpy_rows(sample), 4, 3))
        return str(blurhash.encode(sample.copy(), 4, 3))  # it closes what it gets

    def numpy_rows(sample: Image.Image) -> list[list[tuple[int, ...]]]:
        pixels: Any = list(sample.get_flattened_data())
        return [pixels[start : start + sample.width] for start in range(0, len(pixels), sample.width)]

    return {
        "blurhash / blurhash-python": installed,
        "blurhash-rs": blurhash_rs.blurhash_encode,
        "fast-blurhash": lambda image: fast_blurhash.encode(image.tobytes(), 4, 3, image.width, image.height),
    }


def seconds(run: Callable[[Any], object], subjects: list[Any], rounds: int = 3) -> float:
    """The fastest of some rounds over all subjects; a subject that fails is named and counts as its time."""
    best = float("inf")
    for turn in range(rounds):
        start = time.perf_counter()
        for subject in subjects:
            try:
                run(subject)
            except Exception as error:  # noqa: BLE001 - a failure is a finding here
                if not turn:
                    print(
                        f"    fails on {getattr(subject, 'name', subject)}: {type(error).__name__}: {error}"[
                            :150
                        ]
                    )
        best = min(best, time.perf_counter() - start)
    return best


def compare(title: str, candidates: dict[str, Callable[[Any], object]], subjects: list[Any]) -> None:
    print(title)
    times = {name: seconds(run, subjects) for name, run in candidates.items()}
    fastest = min(times.values())
    for name, taken in times.items():
        print(f"  {name:32} {taken / fastest:7.2f} x   ({taken / len(subjects) * 1000:.2f} ms a file here)")


def main() -> None:
    import pillow_heif

    pillow_heif.register_heif_opener()
    photos = sorted(path for path in Path(sys.argv[1]).rglob("*") if path.is_file())
    with tempfile.TemporaryDirectory() as folder:
        large = Path(folder) / "24-megapixel.jpg"
        largest = max(
            (path for path in photos if path.suffix == ".jpg"), key=lambda path: path.stat().st_size
        )
        Image.open(largest).convert("RGB").resize((6000, 4000)).save(large, quality=92)
        decoders = {
            "Pillow": lambda path: pillow(path, draft=False),
            "Pillow, draft mode": lambda path: pillow(path, draft=True),
            "pyvips": vips,
        }
        compare(f"proxies of {len(photos)} photos", decoders, photos)
        compare("proxies of one JPEG of 24 megapixels", decoders, [large] * 3)
        compare("EXIF", {"Pillow": exif_pillow, "exifread": exif_exifread}, photos)
    samples = []
    for path in photos:
        with Image.open(path) as image:
            sample = image.convert("RGB")
        sample.thumbnail((64, 64))
        samples.append(sample)
    encoders = blurhashes()
    compare("blurhash of a 64 px sample", encoders, samples)
    hashes = {name: [encode(sample) for sample in samples] for name, encode in encoders.items()}
    print("  all agree:", len({tuple(found) for found in hashes.values()}) == 1)


if __name__ == "__main__":
    main()
