import asyncio
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from PIL import Image

from anichron.media.child import Limits
from anichron.media.decoder import ProcessDecoder
from anichron.media.errors import FileFailed, Reason
from anichron.media.picture import Picture, Variant

ENDLESS = 1 << 43
"""Bytes in a file of nothing that takes half an hour to hash and no room on the disk."""


@pytest.fixture
async def decoder() -> AsyncIterator[ProcessDecoder]:
    async with ProcessDecoder(2) as decoder:
        yield decoder


@pytest.fixture
def photo(tmp_path: Path) -> str:
    path = tmp_path / "photo.jpg"
    Image.effect_noise((640, 480), 60).convert("RGB").save(path)
    return str(path)


@pytest.fixture
def hostile(tmp_path: Path, photo: str) -> list[Path]:
    """Files that pretend to be photos."""
    whole = Path(photo).read_bytes()
    contents = {
        "truncated.jpg": whole[: len(whole) // 2],
        "barely.jpg": whole[:20],
        "text.jpg": b"This is no photo.\n" * 100,
        "empty.jpg": b"",
        "nothing.png": bytes(10_000),
        "half.heic": b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(100),
        "half.webp": b"RIFF\xff\xff\xff\x7fWEBPVP8 " + bytes(50),
        "half.tiff": b"II*\0\x08\0\0\0\xff\xff" + b"\x01" * 100,
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    return [tmp_path / name for name in contents]


@pytest.fixture
def endless(tmp_path: Path) -> str:
    path = tmp_path / "endless.tif"
    with path.open("wb") as file:
        file.truncate(ENDLESS)
    return str(path)


async def taken_in(decoder: ProcessDecoder, path: str | Path) -> Picture:
    read = await decoder.fingerprint(str(path))
    return await decoder.develop(str(path), read.stamp)


async def reason(decoder: ProcessDecoder, path: str | Path) -> Reason:
    with pytest.raises(FileFailed) as failed:
        await taken_in(decoder, path)
    assert Path(path).name not in str(failed.value)
    return failed.value.reason


async def started(decoder: ProcessDecoder, path: str) -> tuple["asyncio.Task[object]", int]:
    """A step that is being worked on, and the process that does."""
    task: asyncio.Task[object] = asyncio.create_task(decoder.fingerprint(path))
    return task, await asyncio.to_thread(reading, os.getpid(), path)


def decoders(parent: int) -> set[int]:
    """The decoder processes of a process."""
    tasks = Path(f"/proc/{parent}/task").iterdir()
    children = {int(child) for task in tasks for child in (task / "children").read_text().split()}
    return {
        child for child in children if b"anichron.media.child" in Path(f"/proc/{child}/cmdline").read_bytes()
    }


def opened(pid: int, path: str) -> bool:
    """Whether the process has the file open."""
    try:
        return any(str(link.readlink()) == path for link in Path(f"/proc/{pid}/fd").iterdir())
    except FileNotFoundError:
        return False


def reading(pid: int, path: str) -> int:
    """Wait for a child of the process to have the file open; its id."""
    while True:
        for child in decoders(pid):
            if opened(child, path):
                return child
        time.sleep(0.01)  # nothing tells that another process opens a file


async def test_a_photo_is_hashed_and_developed_in_another_process(
    decoder: ProcessDecoder, photo: str
) -> None:
    picture = await taken_in(decoder, photo)
    assert (picture.media_type, picture.width, picture.height) == ("image/jpeg", 640, 480)
    assert [rendition.variant for rendition in picture.renditions] == [Variant.THUMBNAIL, Variant.PREVIEW]
    assert decoders(os.getpid())


async def test_every_run_in_every_process_gives_the_same_bytes(photo: str) -> None:
    pictures = []
    for _ in range(2):
        async with ProcessDecoder(2) as decoder:
            pictures += await asyncio.gather(*[taken_in(decoder, photo) for _ in range(4)])
    assert all(picture == pictures[0] for picture in pictures)


async def test_what_a_file_is_its_content_decides(decoder: ProcessDecoder, tmp_path: Path) -> None:
    Image.new("RGB", (10, 10)).save(tmp_path / "pretended.jpg", "PNG")
    assert (await taken_in(decoder, tmp_path / "pretended.jpg")).media_type == "image/png"


async def test_files_that_are_no_pictures_fail_by_themselves(
    decoder: ProcessDecoder, photo: str, hostile: list[Path]
) -> None:
    for path in hostile:
        assert await reason(decoder, path) is Reason.UNDECODABLE, path.name
    assert (await taken_in(decoder, photo)).width == 640


async def test_a_decompression_bomb_fails_before_it_goes_off(tmp_path: Path) -> None:
    Image.new("1", (20_000, 20_000)).save(tmp_path / "bomb.png")  # 54 kB, as RGB 1.2 GB
    async with ProcessDecoder(1) as decoder:
        assert await reason(decoder, tmp_path / "bomb.png") is Reason.TOO_LARGE


async def test_a_picture_that_needs_too_much_memory_fails_and_the_next_one_does_not(
    tmp_path: Path, photo: str
) -> None:
    Image.new("RGB", (12_000, 10_000)).save(tmp_path / "large.png")
    async with ProcessDecoder(1, Limits(memory_bytes=400 << 20)) as decoder:
        assert await reason(decoder, tmp_path / "large.png") is Reason.OUT_OF_MEMORY
        assert (await taken_in(decoder, photo)).width == 640
    async with ProcessDecoder(1) as decoder:
        assert (await taken_in(decoder, tmp_path / "large.png")).width == 12_000


async def test_a_file_that_takes_too_long_fails_and_its_process_is_gone(endless: str, photo: str) -> None:
    async with ProcessDecoder(1, Limits(seconds=3)) as decoder:
        task, pid = await started(decoder, endless)
        with pytest.raises(FileFailed) as failed:
            await task
        assert failed.value.reason is Reason.TIMED_OUT
        assert pid not in decoders(os.getpid())
        assert (await taken_in(decoder, photo)).width == 640


async def test_a_decoder_that_dies_costs_its_file_and_no_other(
    decoder: ProcessDecoder, endless: str, photo: str
) -> None:
    doomed, pid = await started(decoder, endless)
    beside = asyncio.create_task(taken_in(decoder, photo))
    os.kill(pid, signal.SIGSEGV)
    with pytest.raises(FileFailed) as failed:
        await doomed
    assert failed.value.reason is Reason.CRASHED
    assert (await beside).width == 640
    assert (await taken_in(decoder, photo)).width == 640


async def test_a_decoder_that_died_between_two_files_costs_none(photo: str) -> None:
    async with ProcessDecoder(1) as decoder:
        await taken_in(decoder, photo)
        (child,) = decoder._idle
        child.kill()
        await child.wait()
        assert (await taken_in(decoder, photo)).width == 640


async def test_a_cancelled_step_is_over_with_its_process(
    decoder: ProcessDecoder, endless: str, photo: str
) -> None:
    task, pid = await started(decoder, endless)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert pid not in decoders(os.getpid())
    assert (await taken_in(decoder, photo)).width == 640


async def test_signals_for_the_whole_process_group_leave_a_decoder_working(
    decoder: ProcessDecoder, photo: str
) -> None:
    await taken_in(decoder, photo)
    (pid,) = decoders(os.getpid())
    assert os.getpgid(pid) != os.getpgid(0)
    os.kill(pid, signal.SIGINT)
    os.kill(pid, signal.SIGTERM)
    assert (await taken_in(decoder, photo)).width == 640
    assert decoders(os.getpid()) == {pid}


async def test_processes_are_kept_up_to_the_number_allowed_and_gone_in_the_end(photo: str) -> None:
    async with ProcessDecoder(3) as decoder:
        seen = set()
        for _ in range(3):
            steps = [asyncio.create_task(taken_in(decoder, photo)) for _ in range(12)]
            while not all(step.done() for step in steps):
                seen |= decoders(os.getpid())
                assert len(decoders(os.getpid())) <= 3
                await asyncio.sleep(0.001)
        assert len(seen) == 3
    assert not seen & decoders(os.getpid())


def test_a_decoder_of_no_process_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one process"):
        ProcessDecoder(0)


PARENT = """
import asyncio, sys
from anichron.media.decoder import ProcessDecoder

async def main():
    async with ProcessDecoder(1) as decoder:
        await decoder.fingerprint(sys.argv[1])

asyncio.run(main())
"""


def test_a_killed_parent_takes_its_decoders_with_it(endless: str) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, endless])
    try:
        decoder = os.pidfd_open(reading(parent.pid, endless))
    finally:
        parent.kill()
        parent.wait()
    select.select([decoder], [], [])  # until it has ended
    os.close(decoder)


SPINNING = """
import re, sys
from anichron.media import child

child._limit_processor_time(float(sys.argv[1]))
re.match(r"(a+)+$", "a" * 60 + "b")  # holds the interpreter for longer than the sun will shine
"""


def test_the_kernel_ends_a_process_that_spins_and_hears_nothing() -> None:
    spinning = subprocess.run([sys.executable, "-c", SPINNING, "0.1"], check=False)
    assert spinning.returncode == -signal.SIGXCPU


CONFINED = """
import os, resource
from anichron.media import child

if os.getuid() == 0:
    os.setuid(65534)  # root may raise any limit
resource.setrlimit(resource.RLIMIT_CPU, (50, 60))
child._limit(resource.RLIMIT_CPU, 100)
assert resource.getrlimit(resource.RLIMIT_CPU) == (60, 60)
child._limit(resource.RLIMIT_CPU, 20)
assert resource.getrlimit(resource.RLIMIT_CPU) == (20, 60)
"""


def test_limits_stay_within_those_of_the_operator() -> None:
    subprocess.run([sys.executable, "-c", CONFINED], check=True)
