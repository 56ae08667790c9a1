"""A folder that takes a while to crawl, and what an undisturbed crawl makes of it."""

from pathlib import Path
from secrets import token_hex

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from anichron import schema
from anichron.up.sample import make_sample
from hosts.anichron.tests.process.faults.crawling import Library, add_config, await_crawl, settings
from hosts.anichron.tests.process.program import Program

PHOTOS = 40


@pytest.fixture(scope="session")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Photos enough for seconds of work."""
    return make_sample(tmp_path_factory.mktemp("originals") / "photos", count=PHOTOS)


@pytest.fixture(scope="session")
def undisturbed(server: str, originals: Path, tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The library that a crawl of the originals makes if nobody disturbs it."""
    name = f"undisturbed_{token_hex(6)}"  # several test processes may share the server
    dsn = make_conninfo(server, dbname=name)
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(SQL("create database {} template template0 encoding 'UTF8'").format(Identifier(name)))
        schema.migrate(dsn)
        add_config(dsn, originals)
        proxies = tmp_path_factory.mktemp("undisturbed")
        worker = Program("worker", **settings(dsn, proxies))
        try:
            ended = await_crawl(dsn, "finished_at is not null")
        finally:
            worker.kill()
        library = Library.of(dsn, proxies)
        admin.execute(SQL("drop database {} with (force)").format(Identifier(name)))
    assert ended["status"] == "succeeded"
    assert len(library.assets) == PHOTOS
    assert len(library.proxies) == 2 * PHOTOS
    return library
