import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from PIL import Image

PHOTOS = 12

CRAWL = """
import asyncio, sys
from pathlib import Path
from uuid import UUID
from anichron.crawl.crawl import crawl
from anichron.crawl.proxy_folder import ProxyFolder
from anichron.database import Database
from anichron.library.postgres import PostgresLibrary
from anichron.media.decoder import ProcessDecoder

async def main(dsn, config, root, proxies):
    async with Database(dsn) as database, ProcessDecoder(2) as decoder:
        summary = await crawl(
            UUID(config),
            Path(root),
            library=PostgresLibrary(database),
            decoder=decoder,
            proxies=ProxyFolder(Path(proxies)),
            max_concurrent_files=2,
            report=lambda summary: print(summary.done, flush=True),
        )
    print(summary.model_dump_json())

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "originals"
    root.mkdir()
    for number in range(PHOTOS):
        Image.effect_noise((400, 300), 20 + number).save(root / f"{number:02}.png", compress_level=1)
        (root / f"copy of {number:02}.png").write_bytes((root / f"{number:02}.png").read_bytes())
    return root


def started(dsn: str, config: UUID, root: Path, proxies: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", CRAWL, dsn, str(config), str(root), str(proxies)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(process: "subprocess.Popen[str]") -> str:
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    return output.splitlines()[-1]


def until(process: "subprocess.Popen[str]", done: int) -> None:
    """Wait for the crawl to have settled so many photos."""
    assert process.stdout is not None
    assert any(int(line) >= done for line in process.stdout)


def rows(dsn: str, config: UUID) -> dict[str, list[Any]]:
    """The config's rows but for the ids and times that are made with them."""
    with psycopg.connect(dsn) as connection:
        return {
            table: connection.execute(
                f"select to_jsonb(t) - 'id' - 'asset_id' - 'imported_at' - 'storage_config_id' - 'path' as kept,"
                f" replace(coalesce(to_jsonb(t) ->> 'path', ''), a.storage_config_id::text, 'config'), a.content_hash"
                f" from anichron.{table} t join anichron.media_assets a on a.id = t.{key}"
                f" where a.storage_config_id = %s order by 1, 2, 3".encode(),
                [config],
            ).fetchall()
            for table, key in (
                ("media_assets", "id"),
                ("metadata", "asset_id"),
                ("proxy_files", "asset_id"),
                ("media_files", "asset_id"),
            )
        }


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("done", [1, PHOTOS + 3])
def test_a_crawl_killed_half_way_and_run_again_ends_as_an_undisturbed_one(
    *, library_dsn: str, root: Path, tmp_path: Path, config: UUID, other_config: UUID, done: int
) -> None:
    finished(started(library_dsn, other_config, root, tmp_path / "proxies"))
    killed = started(library_dsn, config, root, tmp_path / "proxies")
    until(killed, done)
    killed.kill()
    killed.communicate()
    finished(started(library_dsn, config, root, tmp_path / "proxies"))
    assert rows(library_dsn, config) == rows(library_dsn, other_config)
    assert [len(found) for found in rows(library_dsn, config).values()] == [
        PHOTOS,
        PHOTOS,
        2 * PHOTOS,
        2 * PHOTOS,
    ]
    assert files(tmp_path / "proxies" / str(config)) == files(tmp_path / "proxies" / str(other_config))


def test_a_config_that_is_deleted_under_its_crawl_keeps_nothing(
    library_dsn: str, root: Path, tmp_path: Path, config: UUID
) -> None:
    crawling = started(library_dsn, config, root, tmp_path / "proxies")
    until(crawling, 1)
    with psycopg.connect(library_dsn) as connection:
        connection.execute("delete from anichron.storage_configs where id = %s", [config])
    _, errors = crawling.communicate()
    assert crawling.returncode == 1
    assert "StorageConfigGone" in errors
    assert not any(rows(library_dsn, config).values())
