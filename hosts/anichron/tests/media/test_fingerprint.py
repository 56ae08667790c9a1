import os
from pathlib import Path

import pytest
import xxhash

from anichron.media.errors import FileFailed, Reason
from anichron.media.fingerprint import BLOCK, Stamp, fingerprint, steady


def hashed(path: Path) -> str:
    with steady(str(path)) as (file, stamp):
        return fingerprint(file, stamp).content_hash


# Test vectors of the reference implementation, seed 0.
@pytest.mark.parametrize(
    ("content", "expected"),
    [(b"", "ef46db3751d8e999"), (b"a", "d24ec4f1a98c6e5b"), (b"abc", "44bc2cf5ad770999")],
)
def test_the_hash_is_xxh64(tmp_path: Path, content: bytes, expected: str) -> None:
    (tmp_path / "file").write_bytes(content)
    assert hashed(tmp_path / "file") == expected


@pytest.mark.parametrize("size", [BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7])
def test_a_file_hashed_in_pieces_has_the_hash_of_the_whole(tmp_path: Path, size: int) -> None:
    content = os.urandom(size)
    (tmp_path / "file").write_bytes(content)
    assert hashed(tmp_path / "file") == xxhash.xxh64_hexdigest(content)


def test_the_stamp_is_what_stat_says(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    os.utime(path, ns=(0, 1_234_567_890_123_456_789))
    with steady(str(path)) as (_, stamp):
        assert stamp == Stamp(size=5, mtime_ns=1_234_567_890_123_456_789)


def test_a_file_that_changes_while_it_is_read_fails(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")
    with pytest.raises(FileFailed) as failed, steady(str(path)):
        path.write_bytes(b"afterwards")
    assert failed.value.reason is Reason.CHANGED


def test_a_file_that_changed_since_it_was_hashed_fails(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")
    with steady(str(path)) as (_, stamp):
        pass
    os.utime(path, ns=(0, stamp.mtime_ns + 1))
    with pytest.raises(FileFailed) as failed, steady(str(path), stamp):
        pass
    assert failed.value.reason is Reason.CHANGED


def test_what_is_no_regular_file_of_its_own_is_never_opened_for_long(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("link", "pipe", "folder"):
        with pytest.raises(FileFailed) as failed, steady(str(tmp_path / name)):
            pass
        assert failed.value.reason is Reason.UNREADABLE


def test_a_file_that_is_gone_has_vanished(tmp_path: Path) -> None:
    for name in ("file", "folder/file"):
        with pytest.raises(FileFailed) as failed, steady(str(tmp_path / name)):
            pass
        assert failed.value.reason is Reason.VANISHED
        assert str(tmp_path) not in str(failed.value)
