"""The command as a whole: exit codes, one-line errors, migrations and grants."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from subprocess import CompletedProcess

import psycopg
import pytest
from psycopg import sql

from treadle.cli.grants import grants
from treadle.errors import SettingsError

Command = Callable[..., CompletedProcess[str]]


@pytest.mark.parametrize(
    "words",
    [
        ["items", "lst"],
        ["items", "list", "--staus", "failed"],
        ["items", "show", "no-uuid"],
        ["items", "cancel"],
    ],
)
def test_a_wrong_command_line_is_exit_code_2_and_one_line(treadle: Command, words: list[str]) -> None:
    answer = treadle(*words)
    assert answer.returncode == 2
    assert answer.stderr.count("\n") == 1
    assert "treadle --help" in answer.stderr


def test_no_database_named_is_exit_code_2(treadle: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABASE_URL")
    answer = treadle("items", "list")
    assert answer.returncode == 2
    assert "DATABASE_URL" in answer.stderr


def test_an_address_that_cannot_be_read_is_never_repeated(treadle: Command) -> None:
    answer = treadle("items", "list", "--dsn", "secret-and-wrong")
    assert answer.returncode == 2
    assert "secret" not in answer.stderr


def test_a_database_that_is_away_is_exit_code_3_at_once(treadle: Command) -> None:
    for words in (["items", "list"], ["migrate"]):
        answer = treadle(*words, "--dsn", "postgresql://somebody:hidden@127.0.0.1:1/nothing")
        assert answer.returncode == 3
        assert answer.stderr.count("\n") == 1
        assert answer.stderr.count("cannot be reached") == 1
        assert "hidden" not in answer.stderr


def test_a_database_without_the_schema_says_to_migrate(treadle: Command, empty_dsn: str) -> None:
    answer = treadle("items", "list", "--dsn", empty_dsn)
    assert answer.returncode == 1
    assert "treadle migrate" in answer.stderr


def test_migrate_says_what_it_applied_and_then_that_nothing_is_left(treadle: Command, empty_dsn: str) -> None:
    first = treadle("migrate", "--dsn", empty_dsn)
    assert first.returncode == 0
    assert "applied work_items" in first.stdout
    second = treadle("migrate", "--dsn", empty_dsn)
    assert (second.returncode, second.stdout) == (0, "the schema is up to date\n")


@pytest.mark.parametrize("name", ["treadle_api", 'Robert"; drop schema treadle cascade; --', "%s {x} :'y'"])
def test_grants_are_sql_that_gives_roles_of_any_name_their_rights(dsn: str, name: str) -> None:
    api, worker = f"{name} api", f"{name} worker"
    with psycopg.connect(dsn, autocommit=True) as connection:
        roles = [sql.Identifier(api), sql.Identifier(worker)]
        for role in roles:
            connection.execute(sql.SQL("create role {}").format(role))
        try:
            connection.execute(grants(api_role=api, worker_role=worker).encode())
            rights = connection.execute(
                "select has_table_privilege(%(api)s, 'treadle.work_items', 'update'),"
                " has_table_privilege(%(api)s, 'treadle.work_items', 'select'),"
                " has_table_privilege(%(worker)s, 'treadle.work_items', 'update')",
                {"api": api, "worker": worker},
            ).fetchone()
            assert rights == (False, True, True)
        finally:
            for role in roles:
                connection.execute(sql.SQL("drop owned by {}").format(role))
                connection.execute(sql.SQL("drop role {}").format(role))


@pytest.mark.parametrize("names", [("", "w"), ("a\x00", "w"), ("a" * 64, "w"), ("same", "same")])
def test_names_that_no_two_roles_can_have_are_refused(names: tuple[str, str]) -> None:
    with pytest.raises(SettingsError):
        grants(api_role=names[0], worker_role=names[1])


def test_a_reader_that_goes_away_makes_no_noise(dsn: str) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "treadle.cli", "items", "list"],
        env=os.environ | {"DATABASE_URL": dsn},
        stdout=write,
        stderr=subprocess.PIPE,
        timeout=30,
        check=False,
    )
    os.close(write)
    assert done.returncode == 1
    assert done.stderr == b""


async def test_ctrl_c_ends_a_watch_with_130_and_no_traceback(dsn: str) -> None:
    watch = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "treadle.cli", "items", "watch", "--json", "--interval", "0.1"),
        env=os.environ | {"DATABASE_URL": dsn, "PYTHONUNBUFFERED": "1"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    with psycopg.connect(dsn, autocommit=True) as connection:
        # It has connected, so its event loop runs.
        async with asyncio.timeout(30):
            while True:
                found = connection.execute(
                    "select count(*) from pg_stat_activity where datname = current_database()"
                    " and query like '%work_items%' and pid <> pg_backend_pid()"
                ).fetchone()
                if found and found[0]:
                    break
                await asyncio.sleep(0.05)
    watch.send_signal(signal.SIGINT)
    _, err = await asyncio.wait_for(watch.communicate(), 30)
    assert watch.returncode == 130
    assert err == b""
