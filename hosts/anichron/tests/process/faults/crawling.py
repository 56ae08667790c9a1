"""A crawl in the table, and everything that it leaves behind."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self
from uuid import UUID

import psycopg
from psycopg.rows import DictRow, dict_row

GRACE: Final = 2.0
CONFIG: Final = UUID("00000000-0000-7000-8000-00000000000a")
"""The same in every database, so that libraries can be compared."""


def settings(dsn: str, proxies: Path, **more: object) -> dict[str, object]:
    """Short times, two files at once."""
    return {
        "DATABASE_URL": dsn,
        "WORKER__PROXY_PATH": proxies,
        "WORKER__LEASE_SECONDS": 3,
        "WORKER__HEARTBEAT_SECONDS": 0.5,
        "WORKER__POLL_SECONDS": 0.2,
        "WORKER__SHUTDOWN_GRACE_SECONDS": GRACE,
        "WORKER__MAX_CONCURRENT_FILES": 2,
    } | more


def add_config(dsn: str, root: Path, *, config: UUID = CONFIG, user: str = "ada") -> None:
    """Give a user, who is made as well, a folder."""
    with psycopg.connect(dsn) as connection:
        connection.execute(
            "with owner as ("
            "insert into anichron.users (username, password_hash) values (%(user)s, 'none') returning id)"
            " insert into anichron.storage_configs (id, user_id, root_path)"
            " select %(config)s, id, %(root)s from owner",
            {"user": user, "config": config, "root": str(root)},
        )


def until(dsn: str, query: str, *values: object, seconds: float = 60.0) -> DictRow:
    """The first row of *query*, as soon as there is one; a server that is away is asked again."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            with psycopg.connect(dsn, row_factory=dict_row) as connection:
                if row := connection.execute(query.encode(), values or None).fetchone():
                    return row
        except psycopg.OperationalError:
            pass
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {query} {values}"
        time.sleep(0.05)


def await_crawl(dsn: str, condition: str, *, seconds: float = 60.0) -> DictRow:
    """The crawl's row, as soon as *condition* holds of it."""
    query = f"select * from treadle.work_items where kind = 'crawl' and scope_id = %s and ({condition})"
    return until(dsn, query, CONFIG, seconds=seconds)


def await_middle(dsn: str) -> None:
    """Return when the crawl has made some assets and has many to make."""
    await_crawl(dsn, "status = 'running' and (select count(*) from anichron.media_assets) between 4 and 20")


def events(dsn: str, item: UUID) -> list[str]:
    with psycopg.connect(dsn) as connection:
        query = "select attempt || ' ' || event from treadle.item_events where item_id = %s order by id"
        return [event for (event,) in connection.execute(query, [item])]


ASSETS: Final = """
select to_jsonb(asset) - array['id', 'imported_at']
    || jsonb_build_object('metadata', to_jsonb(metadata) - 'asset_id',
        'proxies', (select jsonb_agg(to_jsonb(proxy) - 'asset_id' order by variant)
                    from anichron.proxy_files proxy where proxy.asset_id = asset.id),
        'files', (select jsonb_agg(to_jsonb(file) - 'asset_id' order by path)
                  from anichron.media_files file where file.asset_id = asset.id)) as asset
from anichron.media_assets asset
left join anichron.metadata on metadata.asset_id = asset.id
order by content_hash
"""


@dataclass(frozen=True)
class Library:
    """All media rows, but for ids and times of import, and all proxy files with a digest of their bytes."""

    assets: list[Any]
    proxies: dict[str, str]

    @classmethod
    def of(cls, dsn: str, proxies: Path) -> Self:
        with psycopg.connect(dsn) as connection:
            assets = [asset for (asset,) in connection.execute(ASSETS)]
        files = [path for path in proxies.rglob("*") if path.is_file()]
        digests = {
            str(path.relative_to(proxies)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
        }
        return cls(assets, digests)
