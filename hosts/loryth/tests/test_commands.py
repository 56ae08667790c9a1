"""Commands that end by themselves: what they say, and their exit codes."""

from collections.abc import Callable
from uuid import UUID, uuid4

import pytest

from loryth.cli.app import app
from loryth.database import Connection
from tests.process.host_program import free_port
from treadle.cli.exits import run

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run `loryth` with words and settings: its exit code, and what it says and complains of."""

    def run_it(*words: object, **settings: str) -> tuple[int, str, str]:
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        code = run(app, "loryth", [str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run_it


def park(connection: Connection) -> UUID:
    row = connection.execute(
        "insert into loryth.outbox (aggregate_type, aggregate_id, event_type, payload, status, finished_at,"
        " attempts, last_error) values ('space', '1', 'space.deleted', '{}', 'parked', now(), 10, 'LookupError')"
        " returning id"
    ).fetchone()
    assert row is not None
    return UUID(str(row[0]))


def test_migrate_applies_what_is_missing_once(command: Command, empty_dsn: str) -> None:
    applied = "applied loryth/platform\napplied loryth/outbox\n"
    assert command("migrate", DATABASE_URL=empty_dsn) == (0, applied, "")
    assert command("migrate") == (0, "the schema is up to date\n", "")


def test_an_operator_sees_parked_events_and_publishes_them_anew(
    command: Command, loryth_dsn: str, connection: Connection
) -> None:
    event = park(connection)
    code, listed, _ = command("outbox", "list", DATABASE_URL=loryth_dsn)
    assert code == 0
    assert listed.startswith(str(event))
    assert listed.endswith("  space.deleted  space 1  attempts: 10  LookupError\n")
    assert command("outbox", "retry", event)[:2] == (0, f"event {event} waits again\n")
    assert command("outbox", "list") == (0, "", "")
    assert connection.execute("select status, attempts from loryth.outbox").fetchall() == [("waiting", 0)]
    for unparked in (event, uuid4()):
        code, _, told = command("outbox", "retry", unparked)
        assert code == 1
        assert told.startswith(f"loryth: no event {unparked} is parked")


def test_health_says_when_no_worker_answers(command: Command) -> None:
    code, _, told = command("health", WORKER__HEALTH_PORT=str(free_port()))
    assert code == 1
    assert told.startswith("loryth: no worker answers at http://127.0.0.1:")
    assert command("health", WORKER__HEALTH_PORT="0")[0] == 1


@pytest.mark.parametrize(
    ("others", "code", "told"),
    [
        ({"WORKER__CHORE_ITEM": "5"}, 2, "WORKER__CHORE_ITEM is no setting"),
        ({"S3__BUCKET": ""}, 2, "set S3__BUCKET"),
        ({}, 1, "run `loryth migrate`"),
    ],
)
def test_a_worker_that_cannot_work_says_why_in_one_line(
    command: Command, empty_dsn: str, others: dict[str, str], code: int, told: str
) -> None:
    settings = {"DATABASE_URL": empty_dsn, "WORKER__HEALTH_PORT": "0", "S3__BUCKET": "platform", **others}
    answer = command("worker", **settings)
    assert answer[0] == code
    assert told in answer[2]
    assert len(answer[2].splitlines()) == 1
