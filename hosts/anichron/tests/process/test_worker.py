"""Worker and API processes, in both shapes: whose folders they serve, and what they refuse."""

import asyncio
import re
import signal
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from anichron.database import Database
from anichron.identity.configs import StorageConfigs
from anichron.identity.users import Users
from anichron.up.sample import make_sample
from hosts.anichron.tests.process.program import Program, await_rows, rows
from tests.process.host_program import free_port

Start = Callable[..., Program]

# A crawl every 0.4 s, and a look for work every 0.1 s.
OFTEN = {"WORKER__CRAWL_INTERVAL_HOURS": 0.0001, "WORKER__POLL_SECONDS": 0.1}

pytestmark = pytest.mark.timeout(120)


def add_user(dsn: str, name: str) -> UUID:
    async def add() -> UUID:
        async with Database(dsn) as database:
            user = await Users(database).add(name, password="pw", email=f"{name}@example.org")
            assert user is not None
            return user.id

    return asyncio.run(add())


def add_folder(dsn: str, user: UUID, root: Path) -> UUID:
    async def add() -> UUID:
        async with Database(dsn) as database:
            return (await StorageConfigs(database).ensure(user, root)).id

    return asyncio.run(add())


def crawled_by(dsn: str, root: Path) -> set[str]:
    query = (
        "select distinct claimed_by from treadle.work_items i join anichron.storage_configs c on c.id = i.scope_id"
        " where kind = 'crawl' and claimed_by is not null and root_path = %(root)s"
    )
    return {str(name).partition("@")[0] for (name,) in rows(dsn, query, {"root": str(root)})}


def await_crawls(dsn: str, root: Path, worker: str, *, least: int) -> None:
    query = (
        "select count(*) >= %(least)s from treadle.work_items i join anichron.storage_configs c on c.id = i.scope_id"
        " where kind = 'crawl' and status = 'succeeded' and root_path = %(root)s"
        " and split_part(claimed_by, '@', 1) = %(worker)s"
    )
    await_rows(dsn, query, [(True,)], {"root": str(root), "worker": worker, "least": least})


def test_per_user_workers_keep_to_their_user_s_folders_and_the_all_user_worker_serves_everybody(
    anichron: Start, anichron_dsn: str, tmp_path: Path
) -> None:
    roots = {name: make_sample(tmp_path / name, count=2) for name in ("ada", "bob")}
    workers = []
    for name, root in roots.items():
        add_user(anichron_dsn, name)
        settings = {
            "WORKER__USER": name,
            "WORKER__ROOT_PATH": root,
            "WORKER__PROXY_PATH": tmp_path / "proxies",
        }
        workers.append(anichron("worker", DATABASE_URL=anichron_dsn, **settings, **OFTEN))
    for name, root in roots.items():
        await_crawls(anichron_dsn, root, name, least=3)
    for name, root in roots.items():
        assert crawled_by(anichron_dsn, root) == {name}
    everybody = anichron(
        "worker", DATABASE_URL=anichron_dsn, WORKER__PROXY_PATH=tmp_path / "proxies", **OFTEN
    )
    everybody.line_with("works on")
    assert [worker.stop() for worker in workers] == [0, 0]
    for root in roots.values():
        await_crawls(anichron_dsn, root, "all", least=2)
    assert rows(anichron_dsn, "select count(*) from anichron.media_assets") == [(4,)]
    assert everybody.stop(signal.SIGINT) == 0


def test_a_worker_is_known_by_its_user_its_host_and_a_suffix(
    anichron: Start, anichron_dsn: str, tmp_path: Path
) -> None:
    add_user(anichron_dsn, "ada")
    settings = {
        "WORKER__USER": "ada@example.org",
        "WORKER__ROOT_PATH": tmp_path,
        "WORKER__PROXY_PATH": tmp_path,
    }
    two = [anichron("worker", DATABASE_URL=anichron_dsn, **settings) for _ in range(2)]
    await_rows(anichron_dsn, "select count(*) from treadle.workers", [(2,)])
    names = [str(name) for (name,) in rows(anichron_dsn, "select claimed_by from treadle.workers")]
    assert all(re.fullmatch(r"ada@example\.org@[^@#]+#[0-9a-f]+", name) for name in names), names
    assert rows(anichron_dsn, "select root_path from anichron.storage_configs") == [(str(tmp_path),)]
    assert [worker.stop() for worker in two] == [0, 0]
    assert rows(anichron_dsn, "select count(*) from treadle.workers") == [(0,)]


def test_a_folder_added_now_is_crawled_and_an_inactive_one_is_left_alone(
    anichron: Start, anichron_dsn: str, tmp_path: Path
) -> None:
    ada = add_user(anichron_dsn, "ada")
    settings = {"DATABASE_URL": anichron_dsn, "WORKER__PROXY_PATH": tmp_path / "proxies"}
    worker = anichron("worker", **settings, **OFTEN)
    worker.line_with("works on")
    old, new = make_sample(tmp_path / "old", count=1), make_sample(tmp_path / "new", count=1)
    config = add_folder(anichron_dsn, ada, old)
    await_crawls(anichron_dsn, old, "all", least=1)
    deactivate = (
        "with off as (update anichron.storage_configs set is_active = false where id = %(id)s returning id)"
        " select count(*) from off"
    )
    assert rows(anichron_dsn, deactivate, {"id": config}) == [(1,)]
    worker.line_with("serves 0 scopes now")
    running = "select count(*) from treadle.work_items where scope_id = %(id)s and status = 'running'"
    await_rows(anichron_dsn, running, [(0,)], {"id": config})
    so_far = rows(
        anichron_dsn,
        "select max(attempt), count(*) filter (where finished_at is not null)"
        " from treadle.work_items where scope_id = %(id)s",
        {"id": config},
    )
    add_folder(anichron_dsn, ada, new)
    await_crawls(anichron_dsn, new, "all", least=3)
    assert (
        rows(
            anichron_dsn,
            "select max(attempt), count(*) filter (where finished_at is not null)"
            " from treadle.work_items where scope_id = %(id)s",
            {"id": config},
        )
        == so_far
    )
    assert worker.stop() == 0


def refusal(program: Program) -> tuple[int, str]:
    code = program.end()
    assert len(program.lines) == 1, program.output
    return code, program.output


def test_a_root_of_somebody_else_is_refused(anichron: Start, anichron_dsn: str, tmp_path: Path) -> None:
    add_folder(anichron_dsn, add_user(anichron_dsn, "ada"), tmp_path)
    add_user(anichron_dsn, "bob")
    settings = {"DATABASE_URL": anichron_dsn, "WORKER__USER": "bob", "WORKER__ROOT_PATH": tmp_path}
    code, line = refusal(anichron("worker", **settings))
    assert code == 1
    assert f"the folder {tmp_path} belongs to another user" in line


def test_a_user_who_does_not_exist_is_refused(anichron: Start, anichron_dsn: str) -> None:
    code, line = refusal(anichron("worker", DATABASE_URL=anichron_dsn, WORKER__USER="carol"))
    assert code == 1
    assert "WORKER__USER is 'carol', and there is no such user" in line


@pytest.mark.parametrize("command", ["worker", "api"])
def test_a_database_without_schema_is_refused(anichron: Start, empty_dsn: str, command: str) -> None:
    code, line = refusal(anichron(command, DATABASE_URL=empty_dsn, API__PORT=free_port()))
    assert code == 1
    assert "migrate" in line


@pytest.mark.parametrize("command", ["worker", "api", "migrate"])
def test_a_setting_that_makes_no_sense_is_exit_code_2(anichron: Start, command: str) -> None:
    code, line = refusal(
        anichron(command, DATABASE_URL="postgresql://u:hush@h/d", WORKER__LEASE_SECONDS="long")
    )
    assert code == 2
    assert "WORKER__LEASE_SECONDS" in line
    assert "hush" not in line


def test_a_worker_waits_for_a_database_that_is_away_and_can_be_stopped(anichron: Start) -> None:
    worker = anichron("worker", DATABASE_URL="postgresql://u:hush@127.0.0.1:1/d")
    worker.line_with("trying again: the database does not answer")
    assert worker.stop() == 0
    assert "hush" not in worker.output


def test_migrate_says_3_when_the_database_is_away(anichron: Start) -> None:
    code, line = refusal(anichron("migrate", DATABASE_URL="postgresql://u:hush@127.0.0.1:1/d"))
    assert code == 3
    assert "hush" not in line


def test_an_operator_adds_a_user_and_a_folder(anichron: Start, empty_dsn: str, tmp_path: Path) -> None:
    assert anichron("migrate", DATABASE_URL=empty_dsn).end() == 0
    added = anichron("add-user", "ada", "--admin", DATABASE_URL=empty_dsn)
    assert added.end() == 0
    assert len(added.output.strip()) >= 16
    assert rows(empty_dsn, "select username, is_admin from anichron.users") == [("ada", True)]
    assert refusal(anichron("add-user", "ada", DATABASE_URL=empty_dsn))[0] == 1
    folder = anichron("add-folder", "ada", tmp_path, DATABASE_URL=empty_dsn)
    assert folder.end() == 0
    assert rows(empty_dsn, "select id::text from anichron.storage_configs") == [(folder.output.strip(),)]
    assert refusal(anichron("add-folder", "bob", tmp_path, DATABASE_URL=empty_dsn))[0] == 1
