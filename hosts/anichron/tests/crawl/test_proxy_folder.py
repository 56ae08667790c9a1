import os
import stat
from pathlib import Path
from uuid import UUID

import pytest

from anichron.crawl.proxy_folder import ProxyFolder, ProxyFolderUnwritable
from anichron.media.picture import Rendition, Variant

CONFIG = UUID("018f0000-0000-7000-8000-000000000001")
HASH = "44bc2cf5ad770999"
SHARD = f"{CONFIG}/44/bc"
RENDITIONS = (
    Rendition(variant=Variant.THUMBNAIL, width=300, height=200, data=b"small"),
    Rendition(variant=Variant.PREVIEW, width=1920, height=1280, data=b"larger"),
)


def test_proxies_lie_sharded_by_content_under_their_config(tmp_path: Path) -> None:
    thumbnail, preview = ProxyFolder(tmp_path).write(CONFIG, HASH, RENDITIONS)
    assert (thumbnail.path, preview.path) == (f"{SHARD}/{HASH}-thumbnail.jpg", f"{SHARD}/{HASH}-preview.jpg")
    assert (tmp_path / thumbnail.path).read_bytes() == b"small"
    assert (tmp_path / preview.path).read_bytes() == b"larger"
    assert (preview.variant, preview.width, preview.height, preview.byte_size) == (
        Variant.PREVIEW,
        1920,
        1280,
        6,
    )


def test_another_user_may_read_a_proxy(tmp_path: Path) -> None:
    (proxy, _) = ProxyFolder(tmp_path).write(CONFIG, HASH, RENDITIONS)
    assert stat.S_IMODE((tmp_path / proxy.path).stat().st_mode) == 0o644


def test_writing_again_replaces_and_clears_away_what_a_killed_writer_left(tmp_path: Path) -> None:
    folder = ProxyFolder(tmp_path)
    folder.write(CONFIG, HASH, RENDITIONS)
    (tmp_path / SHARD / f".{HASH}-preview.jpg.x7k2").write_bytes(b"lar")
    (tmp_path / SHARD / f"{HASH}-preview.jpg").write_bytes(b"damaged")
    folder.write(CONFIG, HASH, RENDITIONS)
    names = sorted(path.name for path in (tmp_path / SHARD).iterdir())
    assert names == [f"{HASH}-preview.jpg", f"{HASH}-thumbnail.jpg"]
    assert (tmp_path / SHARD / f"{HASH}-preview.jpg").read_bytes() == b"larger"


def test_a_write_that_fails_leaves_nothing_and_names_no_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device", str(tmp_path))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ProxyFolderUnwritable, match="No space left on device") as failed:
        ProxyFolder(tmp_path).write(CONFIG, HASH, RENDITIONS)
    assert str(tmp_path) not in str(failed.value)
    assert list((tmp_path / SHARD).iterdir()) == []


def test_a_proxy_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        assert not (tmp_path / SHARD / f"{HASH}-preview.jpg").exists() or len(synced) == 3
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    ProxyFolder(tmp_path).write(CONFIG, HASH, RENDITIONS)
    assert [name.partition(".jpg")[0] for name in synced] == [f".{HASH}-thumbnail", f".{HASH}-preview", "bc"]


def test_a_proxy_folder_that_is_none_is_no_photos_fault(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ProxyFolderUnwritable):
        ProxyFolder(tmp_path / "file").write(CONFIG, HASH, RENDITIONS)
