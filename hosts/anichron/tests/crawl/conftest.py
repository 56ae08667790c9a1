import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pillow_heif
import pytest
from PIL import Image

from anichron.crawl.crawl import crawl
from anichron.crawl.proxy_folder import ProxyFolder
from anichron.crawl.summary import CrawlSummary
from anichron.library.memory import MemoryLibrary
from anichron.media.child import Limits, Reply, answer
from anichron.media.decoder import Decoder
from anichron.media.errors import FileFailed
from anichron.media.fingerprint import Fingerprint, Stamp
from anichron.media.picture import Picture

CONFIG = UUID("018f0000-0000-7000-8000-000000000001")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "originals").mkdir()
    return tmp_path / "originals"


@pytest.fixture
def proxy_root(tmp_path: Path) -> Path:
    return tmp_path / "proxies"


@pytest.fixture
def library() -> MemoryLibrary:
    return MemoryLibrary(CONFIG)


class InlineDecoder:
    """Decodes where it is called: what a decoder process does, without the process."""

    async def fingerprint(self, path: str) -> Fingerprint:
        return _wanted(answer(path, None, Limits())).fingerprint or pytest.fail("no fingerprint")

    async def develop(self, path: str, expected: Stamp) -> Picture:
        return _wanted(answer(path, expected, Limits())).picture or pytest.fail("no picture")


def _wanted(reply: Reply) -> Reply:
    if reply.failure is not None:
        raise FileFailed(reply.failure.reason, reply.failure.detail)
    return reply


@pytest.fixture
def decoder() -> Decoder:
    return InlineDecoder()


@pytest.fixture
def paint(root: Path) -> Callable[..., Path]:
    """Makes a photo of one colour, which is its content, under the root."""
    pillow_heif.register_heif_opener()

    def paint(name: str, colour: str = "red", **options: Any) -> Path:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (64, 48), colour).save(path, **options)
        os.utime(path, ns=(0, 1_600_000_000_000_000_000))
        return path

    return paint


@pytest.fixture
def run(root: Path, proxy_root: Path, library: MemoryLibrary, decoder: Decoder) -> Callable[..., Any]:
    """Crawls the root; arguments take the place of the fixtures."""

    async def run(**others: Any) -> CrawlSummary:
        arguments: dict[str, Any] = {
            "library": library,
            "decoder": decoder,
            "proxies": ProxyFolder(proxy_root),
            "max_concurrent_files": 2,
        }
        return await crawl(CONFIG, root, **(arguments | others))

    return run
