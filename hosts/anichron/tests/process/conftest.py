"""Processes that end with their test, and a folder of photos."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from anichron.up.sample import make_sample
from hosts.anichron.tests.process.program import Program


@pytest.fixture
def anichron() -> Iterator[Callable[..., Program]]:
    """Start an `anichron` command; keywords are its settings."""
    started: list[Program] = []

    def start(*arguments: object, **settings: object) -> Program:
        started.append(Program(*arguments, **settings))
        return started[-1]

    yield start
    for program in started:
        program.kill()


@pytest.fixture
def six_photos(tmp_path: Path) -> Path:
    """A folder with six photos, no two alike."""
    return make_sample(tmp_path / "six photos", count=6)
