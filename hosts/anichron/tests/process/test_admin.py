"""The first admin, as the commands make them: once, with a password that is said once and lets them in."""

import json
import re
import urllib.error
import urllib.request
from collections.abc import Callable

import pytest

from hosts.anichron.tests.process.program import Program, rows
from tests.process.host_program import free_port

Start = Callable[..., Program]

SAID = re.compile(r"^admin: admin   password: (\S+)$", re.MULTILINE)
ADMINS = "select username from anichron.users where is_admin order by id"

pytestmark = pytest.mark.timeout(120)


def said(program: Program) -> str:
    found = SAID.findall(program.output)
    assert len(found) == 1, program.output
    return str(found[0])


def signs_in(port: int, password: str) -> bool:
    body = json.dumps({"username": "admin", "password": password}).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/v1/auth/login", body, {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return "access_token" in json.load(answer)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code != 401


def test_the_api_makes_an_admin_at_its_first_start_only(anichron: Start, anichron_dsn: str) -> None:
    port = free_port()
    settings = {"DATABASE_URL": anichron_dsn, "API__PORT": port}
    first = anichron("api", **settings)
    first.line_with("startup complete")
    password = said(first)
    assert signs_in(port, password)
    assert not signs_in(port, f"{password}x")
    assert first.stop() == 0
    second = anichron("api", **settings)
    second.line_with("startup complete")
    assert signs_in(port, password)
    assert second.stop() == 0
    assert "password" not in second.output
    assert rows(anichron_dsn, ADMINS) == [("admin",)]


def test_of_processes_that_start_together_one_says_the_password(anichron: Start, anichron_dsn: str) -> None:
    programs = [anichron("api", DATABASE_URL=anichron_dsn, API__PORT=free_port()) for _ in range(3)]
    for program in programs:
        program.line_with("startup complete")
    assert sum(len(SAID.findall(program.output)) for program in programs) == 1
    assert [program.stop() for program in programs] == [0, 0, 0]


def test_an_admin_is_made_by_command_and_a_lost_password_replaced(anichron: Start, anichron_dsn: str) -> None:
    made = anichron("admin", DATABASE_URL=anichron_dsn)
    assert made.end() == 0
    password = said(made)
    again = anichron("admin", DATABASE_URL=anichron_dsn)
    assert again.end() == 0
    assert "anichron reset-password admin" in again.output
    assert not SAID.search(again.output)
    reset = anichron("reset-password", "admin", DATABASE_URL=anichron_dsn)
    assert reset.end() == 0
    port = free_port()
    api = anichron("api", DATABASE_URL=anichron_dsn, API__PORT=port)
    api.line_with("startup complete")
    assert signs_in(port, reset.output.strip())
    assert not signs_in(port, password)
    assert api.stop() == 0


def test_a_name_that_is_taken_is_refused_with_the_way_out(anichron: Start, anichron_dsn: str) -> None:
    assert anichron("add-user", "admin", DATABASE_URL=anichron_dsn).end() == 0
    refused = anichron("admin", DATABASE_URL=anichron_dsn)
    assert refused.end() == 1
    assert "anichron add-user --admin NAME" in refused.output
    assert anichron("reset-password", "nobody", DATABASE_URL=anichron_dsn).end() == 1
    api = anichron("api", DATABASE_URL=anichron_dsn, API__PORT=free_port())
    api.line_with("startup complete")
    assert "anichron add-user --admin NAME" in api.output
    assert api.stop() == 0
    assert rows(anichron_dsn, ADMINS) == []
