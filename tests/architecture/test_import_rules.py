"""Each import rule is seen to fail on a deliberate violation."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = (Path("src/treadle"), Path("hosts/anichron/src/anichron"), Path("hosts/loryth/src/loryth"))

VIOLATIONS = {
    "Dependencies point inward: domain <- ports <- worker, admin <- postgres, memory <- cli": (
        "src/treadle/domain/status.py",
        "import treadle.ports.lease",
    ),
    "The task scheduler stands alone": (
        "src/treadle/task_scheduler.py",
        "from treadle.errors import TreadleError",
    ),
    "The domain is pure: no driver, no web, no host": ("src/treadle/domain/item.py", "import psycopg"),
    "The embedded server knows nothing of the queue": (
        "src/treadle/embedded/server.py",
        "import treadle.domain.item",
    ),
    "The API side holds no leases, schedules nothing and purges nothing": (
        "hosts/anichron/src/anichron/api/health.py",
        "from treadle.postgres.leases import PostgresLeases",
    ),
    "The admin API reads and cancels, through ports, and can do nothing else": (
        "src/treadle/admin/waiting.py",
        "from treadle.ports.enqueue import Enqueue",
    ),
    "Handlers and media live only in the Worker": (
        "hosts/anichron/src/anichron/api/process.py",
        "from anichron.tokens.handler import TokenCleanupHandler",
    ),
    "Ingestion knows nothing of the queue": (
        "hosts/anichron/src/anichron/media/errors.py",
        "from treadle.domain.run import Run",
    ),
    "Hosts stand on the library, never the other way": (
        "src/treadle/postgres/store.py",
        "import anichron.kinds",
    ),
    "The hosts know nothing of each other": (
        "hosts/loryth/src/loryth/settings.py",
        "import anichron.settings",
    ),
    "Loryth is a host of the task scheduler, not of the queue": (
        "hosts/loryth/src/loryth/schema.py",
        "from treadle.postgres.store import PostgresStore",
    ),
    "Loryth points inward: cli <- worker <- health, chores <- events <- database": (
        "hosts/loryth/src/loryth/events/outbox.py",
        "import loryth.cli.app",
    ),
}


def contracts() -> set[str]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return {contract["name"] for contract in settings["tool"]["importlinter"]["contracts"]}


def lint_imports(tree: Path) -> subprocess.CompletedProcess[str]:
    # The copy's own sources stand before those that are installed.
    places = os.pathsep.join(str(tree / source.parent) for source in SOURCES)
    code = (
        "import sys; from importlinter.cli import lint_imports_command; lint_imports_command(['--no-cache'])"
    )
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": places},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for source in SOURCES:
        shutil.copytree(ROOT / source, tmp_path / source)
    return tmp_path


def test_every_contract_is_violated_below() -> None:
    assert set(VIOLATIONS) == contracts()


def test_the_project_keeps_its_contracts(tree: Path) -> None:
    answer = lint_imports(tree)

    assert answer.returncode == 0, answer.stdout


@pytest.mark.parametrize("contract", VIOLATIONS)
def test_a_violation_breaks_its_contract(tree: Path, contract: str) -> None:
    file, line = VIOLATIONS[contract]
    with (tree / file).open("a", encoding="utf-8") as source:
        source.write(f"\n{line}\n")

    answer = lint_imports(tree)

    assert answer.returncode != 0
    assert f"{contract} BROKEN" in " ".join(answer.stdout.split())


def test_no_timer_runs_beside_the_queue_in_anichron() -> None:
    importing = [
        str(file)
        for file in (ROOT / "hosts/anichron/src").rglob("*.py")
        if "task_scheduler" in file.read_text("utf-8")
    ]

    assert importing == []
