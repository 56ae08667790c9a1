"""What the type checker says to users: right code passes, and a wrong payload does not."""

from pathlib import Path

import pytest
from mypy import api

HEAD = """
from enum import StrEnum
from typing import Any, assert_type
from uuid import UUID

import psycopg
from treadle import Every, EveryScope, Handler, Partial, Payload, Registry, Run, WorkQueue
from treadle.domain.item import Queued
from treadle.postgres import PostgresClient, enqueue


class Kind(StrEnum):
    RESIZE = "resize"
    DELETE = "delete"


class Resize(Payload, kind=Kind.RESIZE):
    width: int


class Delete(Payload, kind=Kind.DELETE):
    ids: list[int]
"""

RIGHT = """
class AsyncResize(Handler[Resize]):
    async def run(self, payload: Resize, run: Run) -> dict[str, int] | Partial[dict[str, int]]:
        assert_type(payload.width, int)
        assert_type(run.attempt, int)
        return run.partial({"done": 1}) if run.stopping else {"done": 2}


class PlainDelete(Handler[Delete]):
    def run(self, payload: Delete, run: Run) -> None:
        run.progress(done=len(payload.ids))


async def ask(client: PostgresClient, registry: Registry, connection: psycopg.AsyncConnection[Any]) -> None:
    queue = WorkQueue(registry, client.queue)
    assert_type(await queue.enqueue(Resize(width=3), connection=connection), Queued)


def ask_plainly(registry: Registry, connection: psycopg.Connection[Any]) -> None:
    assert_type(enqueue(connection, registry, Delete(ids=[1])), Queued)
"""

WRONG = {
    "a handler of another payload": """
class WrongHandler(Handler[Resize]):
    async def run(self, payload: Delete, run: Run) -> None: ...
""",
    "a payload without its fields": "Resize()",
    "a field of the wrong type": 'Resize(width="wide")',
    "no payload at all": """
async def ask(queue: WorkQueue[Any]) -> None:
    await queue.enqueue({"width": 3})
""",
    "a connection that is not async": """
async def ask(client: PostgresClient, registry: Registry, connection: psycopg.Connection[Any]) -> None:
    await WorkQueue(registry, client.queue).enqueue(Resize(width=3), connection=connection)
""",
    "a class that is no payload as a handler's": "class NoPayload(Handler[int]): ...",
    "a progress of text": """
def report(run: Run) -> None:
    run.progress(done="three")
""",
}


def check(code: str, folder: Path) -> tuple[str, int]:
    file = folder / "user_code.py"
    file.write_text(HEAD + code)
    cache = Path(__file__).parents[2] / ".mypy_cache" / "users"
    said, errors, status = api.run(["--strict", f"--cache-dir={cache}", "--config-file=", str(file)])
    return said + errors, status


def test_right_code_passes(tmp_path: Path) -> None:
    said, status = check(RIGHT, tmp_path)

    assert status == 0, said


@pytest.mark.parametrize("what", WRONG)
def test_wrong_code_does_not(tmp_path: Path, what: str) -> None:
    said, status = check(WRONG[what], tmp_path)

    assert status == 1
    # One fault, and on the lines that are wrong, not in the head or the library.
    faults = [line for line in said.splitlines() if ": error:" in line]
    assert faults
    assert all(int(line.split(":")[1]) > HEAD.count("\n") for line in faults), said
