"""The SQL files: each is used, says what it does, and pastes into psql."""

import re
from pathlib import Path

import pytest

import treadle.postgres

FOLDER = Path(treadle.postgres.__file__).parent
FILES = sorted((FOLDER / "sql").glob("*.sql"))
QUOTED_PLACEHOLDER = re.compile(r"'[^'\n]*%\(\w+\)s[^'\n]*'")
PLACEHOLDER = re.compile(r"%\(\w+\)s")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
class TestFile:
    def test_its_first_line_is_a_sentence(self, file: Path) -> None:
        assert re.fullmatch(r"-- [A-Z].*\.", file.read_text("utf-8").splitlines()[0])

    def test_no_placeholder_is_quoted(self, file: Path) -> None:
        assert not QUOTED_PLACEHOLDER.search(file.read_text("utf-8"))

    def test_no_percent_sign_is_written_twice_for_the_driver(self, file: Path) -> None:
        assert "%" not in PLACEHOLDER.sub("", file.read_text("utf-8"))

    def test_tables_are_named_with_their_schema(self, file: Path) -> None:
        tables = r"(?:work_items|item_events|workers|tombstones|cron_keys)\b(?!_)"
        assert not re.search(
            rf"(?:from|join|into|update|delete from)\s+(?!treadle\.){tables}", file.read_text("utf-8")
        )

    def test_it_is_used(self, file: Path) -> None:
        sources = "".join(source.read_text("utf-8") for source in FOLDER.parent.rglob("*.py"))
        assert re.search(rf'"{file.stem}"', sources)


def test_a_quoted_placeholder_would_be_found() -> None:
    assert QUOTED_PLACEHOLDER.search("select interval '%(seconds)s seconds'")
