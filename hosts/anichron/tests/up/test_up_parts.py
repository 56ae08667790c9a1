"""The parts of `anichron up` on their own: sample photos, the first admin, and a process that is kept running."""

import asyncio
import hashlib
import signal
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from PIL import Image

from anichron.database import Database
from anichron.identity.users import Users
from anichron.up.admin import first_admin
from anichron.up.child import Child, ChildFailed
from anichron.up.sample import COUNT, make_sample
from hosts.anichron.tests.process.program import rows


def test_the_sample_is_a_few_dozen_photos_no_two_alike_with_exif(tmp_path: Path) -> None:
    photos = sorted(make_sample(tmp_path / "sample").rglob("*.jpg"))
    assert len(photos) == COUNT >= 24
    assert len({hashlib.sha256(photo.read_bytes()).digest() for photo in photos}) == COUNT
    with Image.open(photos[4]) as photo:
        exif = photo.getexif()
    assert exif[0x0110]  # the camera's model
    assert exif.get_ifd(0x8769)[0x9003].startswith("2024:")  # when it was taken
    assert exif.get_ifd(0x8825)[1] == "N"


def test_a_sample_that_was_cut_short_is_made_anew_and_a_whole_one_is_kept(tmp_path: Path) -> None:
    (tmp_path / "sample.new" / "half").mkdir(parents=True)
    folder = make_sample(tmp_path / "sample", count=2)
    times = {photo: photo.stat().st_mtime_ns for photo in folder.rglob("*.jpg")}
    assert len(times) == 2
    make_sample(folder, count=2)
    assert {photo: photo.stat().st_mtime_ns for photo in folder.rglob("*.jpg")} == times


async def test_the_first_admin_is_made_once_and_the_password_said_once(
    anichron_dsn: str, tmp_path: Path
) -> None:
    kept = tmp_path / "data" / "admin-password"
    said: list[str] = []
    async with Database(anichron_dsn) as database:
        admin = await first_admin(Users(database), kept, said.append)
        again = await first_admin(Users(database), kept, said.append)
    assert admin.is_admin
    assert again == admin
    password = kept.read_text("utf-8").strip()
    assert password in said[0]
    assert password not in said[1]
    assert str(kept) in said[1]
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    ((stored,),) = rows(anichron_dsn, "select password_hash from anichron.users")
    assert PasswordHasher().verify(str(stored), password)


async def test_a_start_that_was_cut_short_keeps_the_password_it_had_chosen(
    anichron_dsn: str, tmp_path: Path
) -> None:
    kept = tmp_path / "admin-password"
    kept.write_text("chosen before\n", "utf-8")
    said: list[str] = []
    async with Database(anichron_dsn) as database:
        await first_admin(Users(database), kept, said.append)
    assert "chosen before" in said[0]


async def test_an_admin_of_another_making_gets_no_made_up_password(anichron_dsn: str, tmp_path: Path) -> None:
    kept = tmp_path / "admin-password"
    async with Database(anichron_dsn) as database:
        await Users(database).add("admin", password="own", is_admin=True)
        await first_admin(Users(database), kept, lambda _: None)
    assert not kept.exists()


def child(code: str, say: Callable[[str], None]) -> Child:
    made = Child("worker", [], {}, say)
    made._command = [sys.executable, "-c", code]
    return made


async def test_a_process_that_dies_at_its_start_again_and_again_is_given_up() -> None:
    said: list[str] = []
    with pytest.raises(ChildFailed, match="the worker was killed by SIGKILL"):
        await child("import os; os.kill(os.getpid(), 9)", said.append).run()
    assert [line for line in said if "started again" in line] == [
        "the worker was killed by SIGKILL; it is started again"
    ] * 2


async def test_a_process_that_refuses_to_run_is_not_started_again() -> None:
    said: list[str] = []
    with pytest.raises(ChildFailed, match="ended with exit code 1"):
        await child("print('no'); raise SystemExit(1)", said.append).run()
    assert said == ["worker | no"]


async def test_a_process_that_will_not_stop_is_killed() -> None:
    said: list[str] = []
    is_on = asyncio.Event()

    def say(line: str) -> None:
        said.append(line)
        is_on.set()

    code = "import signal; signal.signal(15, lambda *_: None); print('on')\nwhile True: signal.pause()"
    stubborn = child(code, say)
    running = asyncio.create_task(stubborn.run())
    await asyncio.wait_for(is_on.wait(), 30)
    await stubborn.stop(seconds=0.1)
    await running
    assert said == ["worker | on", "the worker did not end in 0.1 s and was killed"]


async def test_a_process_that_is_just_being_born_is_stopped_too() -> None:
    newborn = child("import signal; signal.pause()", lambda _: None)
    running = asyncio.create_task(newborn.run())
    await asyncio.sleep(0)  # it has begun to start the process, and does not have it yet
    too_early = newborn._process
    assert too_early is None
    await newborn.stop(seconds=30)
    await running
    assert newborn._process is not None
    assert newborn._process.returncode == -signal.SIGTERM
