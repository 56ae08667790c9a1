import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from anichron.crawl.walk import Found, FoundPhoto, NotMounted, Root, UnreadableFolder, Unsupported


def made(root: Path, names: Iterable[str | bytes]) -> Root:
    for name in names:
        path = root / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"content")
    return Root(root)


def photos(finds: Iterable[Found]) -> list[str]:
    return [find.photo.path for find in finds if isinstance(find, FoundPhoto)]


def test_photos_are_found_by_suffix_in_any_case_folder_by_folder_and_in_order(tmp_path: Path) -> None:
    root = made(
        tmp_path, ["b.jpg", "a.JPEG", "z/1.heic", "m/2/3.TIFF", "m/1.png", "c.webp", "d.tif", "e.hif"]
    )
    assert photos(root.walk()) == [
        *("a.JPEG", "b.jpg", "c.webp", "d.tif", "e.hif"),
        *("m/1.png", "m/2/3.TIFF", "z/1.heic"),
    ]


def test_a_found_file_has_its_size_and_its_time_to_the_nanosecond(tmp_path: Path) -> None:
    root = made(tmp_path, ["a.jpg"])
    os.utime(tmp_path / "a.jpg", ns=(0, -1_234_567_891))
    (find,) = root.walk()
    assert isinstance(find, FoundPhoto)
    assert (find.photo.stamp.size, find.photo.stamp.mtime_ns) == (7, -1_234_567_891)


def test_other_files_are_unsupported_and_named_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    names = ["clip.mov", "film.mp4", "note.txt", "raw.dng", "sidecar.xmp", "x"]
    finds = list(made(tmp_path, names).walk())
    assert finds == [Unsupported(name) for name in names]
    assert [record.levelname for record in caplog.records] == ["WARNING"] * len(names)
    assert all(name in record.getMessage() for name, record in zip(names, caplog.records, strict=True))


def test_hidden_and_system_files_are_passed_over_in_silence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hidden = [
        ".a.jpg",
        "._b.jpg",
        ".trash/c.jpg",
        "@eaDir/d.jpg",
        "Thumbs.db",
        "desktop.ini",
        "$RECYCLE.BIN/e.jpg",
    ]
    assert photos(made(tmp_path, [*hidden, "seen.jpg"]).walk()) == ["seen.jpg"]
    assert not caplog.records


@pytest.mark.parametrize(
    ("names", "pairs"),
    [
        (["1.HEIC", "1.MOV"], {"1.HEIC": "1.MOV"}),
        (["img_1.heic", "IMG_1.mov"], {"img_1.heic": "IMG_1.mov"}),
        (["1.heif", "1.mp4"], {"1.heif": "1.mp4"}),
        (["1.heic", "1.jpg", "1.mov"], {"1.heic": "1.mov", "1.jpg": None}),
        (["1.heic", "2.mov"], {"1.heic": None}),
        (["a/1.heic", "b/1.mov"], {"a/1.heic": None}),
        (["1.jpg", "1.mov"], {"1.jpg": None}),
    ],
)
def test_a_heif_and_the_video_of_its_stem_in_its_folder_are_a_live_photo(
    tmp_path: Path, names: list[str], pairs: dict[str, str | None]
) -> None:
    found = list(made(tmp_path, names).walk())
    live = {f.photo.path: f.live_video and f.live_video.path for f in found if isinstance(f, FoundPhoto)}
    assert live == pairs
    taken = {*pairs, *pairs.values()}
    assert {f.path for f in found if isinstance(f, Unsupported)} == {
        name for name in names if name not in taken
    }


def test_of_two_heifs_or_two_videos_of_one_stem_one_pair_is_made(tmp_path: Path) -> None:
    found = list(made(tmp_path, ["1.heic", "1.heif", "1.mov", "1.mp4"]).walk())
    assert sum(isinstance(find, FoundPhoto) and find.live_video is not None for find in found) == 1
    assert sum(isinstance(find, Unsupported) for find in found) == 1


def test_symbolic_links_are_not_followed_out_of_the_root_nor_in_circles(tmp_path: Path) -> None:
    made(tmp_path / "outside", ["secret.jpg"])
    root = made(tmp_path / "root", ["in/a.jpg"])
    (tmp_path / "root/out").symlink_to(tmp_path / "outside")
    (tmp_path / "root/out.jpg").symlink_to(tmp_path / "outside/secret.jpg")
    (tmp_path / "root/in/up").symlink_to("..")
    (tmp_path / "root/self").symlink_to(".")
    (tmp_path / "root/nowhere.jpg").symlink_to("nothing")
    assert photos(root.walk()) == ["in/a.jpg"]


def test_a_root_that_is_a_link_itself_is_the_folder_it_names(tmp_path: Path) -> None:
    made(tmp_path / "real", ["a.jpg"])
    (tmp_path / "link").symlink_to("real")
    assert photos(Root(tmp_path / "link").walk()) == ["a.jpg"]


def test_what_is_no_regular_file_is_unsupported_and_named_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = made(tmp_path, ["a.jpg"])
    os.mkfifo(tmp_path / "pipe.jpg")
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket.jpg")
        finds = list(root.walk())
    assert photos(finds) == ["a.jpg"]
    assert finds[1:] == [Unsupported("pipe.jpg"), Unsupported("socket.jpg")]
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 2


def test_names_that_are_no_utf8_are_found_as_they_are(tmp_path: Path) -> None:
    name = b"caf\xe9/\xff\xfe.jpg"
    (found,) = photos(made(tmp_path, [name]).walk())
    assert os.fsencode(found) == name


def test_a_deep_tree_is_no_matter(tmp_path: Path) -> None:
    depth = 400
    assert len(photos(made(tmp_path, ["/".join(["d"] * depth) + "/a.jpg"]).walk())) == 1


def test_the_walk_reads_no_further_than_it_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = made(tmp_path, [f"{folder}/{photo}.jpg" for folder in range(9) for photo in range(3)])
    listed = listing(monkeypatch)
    walk = root.walk()
    for _ in range(4):
        next(walk)
    assert listed == ["", "0", "1"]


def listing(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders that are listed from now on."""
    listed: list[str] = []
    original = Root._list

    def noted(root: Root, folder: str) -> Any:
        listed.append(folder)
        return original(root, folder)

    monkeypatch.setattr(Root, "_list", noted)
    return listed


def test_a_file_that_goes_while_its_folder_is_listed_was_never_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = made(tmp_path, ["gone.jpg", "stays.jpg"])
    with os.scandir(tmp_path) as listed:
        entries = list(listed)
    (tmp_path / "gone.jpg").unlink()
    monkeypatch.setattr(os, "scandir", lambda _: nullcontext(iter(entries)))
    assert photos(root.walk()) == ["stays.jpg"]


UNPRIVILEGED = """
import os, sys
from pathlib import Path
from anichron.crawl.walk import Root

if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for find in Root(Path(sys.argv[1])).walk():
    print(type(find).__name__, getattr(find, "path", None) or find.photo.path)
"""


def test_an_unreadable_folder_is_counted_and_the_others_are_walked() -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own are closed to other users
        Path(folder).chmod(0o755)
        root = made(Path(folder), ["a/1.jpg", "b/2.jpg", "c/3.jpg"]).path
        (root / "b").chmod(0)
        command = [sys.executable, "-c", UNPRIVILEGED, str(root)]
        walked = subprocess.run(command, check=True, capture_output=True, text=True)
        (root / "b").chmod(0o755)
    assert walked.stdout.splitlines() == ["FoundPhoto a/1.jpg", "UnreadableFolder b", "FoundPhoto c/3.jpg"]


def test_a_folder_that_fails_while_it_is_listed_is_unreadable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = made(tmp_path, ["a/1.jpg", "b/2.jpg"])
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: scandir(path / "none" if path.name == "a" else path))
    assert next(root.walk()) == UnreadableFolder("a")


@pytest.mark.parametrize("path", ["missing", "file", "link", "file/below", "x" * 300])
def test_a_root_that_is_no_folder_is_not_mounted(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nothing")
    with pytest.raises(NotMounted, match=r"^not mounted here: ") as refused:
        Root(tmp_path / path)
    assert str(tmp_path) not in str(refused.value)


def test_a_root_that_cannot_be_listed_is_no_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = made(tmp_path, ["a.jpg"])
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: scandir(path / "a.jpg"))
    with pytest.raises(NotMounted, match="cannot be read"):
        list(root.walk())


@pytest.mark.parametrize("moment", [0, 1, 3])
def test_a_root_that_goes_away_in_the_middle_is_not_mounted(tmp_path: Path, moment: int) -> None:
    root = made(tmp_path / "root", ["a/1.jpg", "b/2.jpg", "c/3.jpg"])
    walk = root.walk()
    for _ in range(moment):
        next(walk)
    (tmp_path / "root").rename(tmp_path / "away")
    with pytest.raises(NotMounted):
        list(walk)


def test_a_root_that_another_folder_takes_the_place_of_is_not_mounted(tmp_path: Path) -> None:
    root = made(tmp_path / "root", ["a/1.jpg", "b/2.jpg"])
    walk = root.walk()
    next(walk)
    (tmp_path / "root").rename(tmp_path / "away")
    (tmp_path / "root").mkdir()
    with pytest.raises(NotMounted, match="another"):
        list(walk)
