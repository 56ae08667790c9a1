"""Who may write what, as the text of the project shows it; the database's grants are tested beside the SQL."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "src" / "treadle"
INSERTS = re.compile(r"insert\s+into\s+treadle\s*\.\s*work_items\b", re.IGNORECASE)
ENQUEUE_PATH = {"enqueue.sql", "enqueue_at.sql", "schedule.sql", "schedule_slots.sql"}


def product_files(*folders: Path) -> Iterator[Path]:
    for folder in folders:
        for suffix in ("*.py", "*.sql"):
            yield from folder.rglob(suffix)


def inserting_files(*folders: Path) -> set[str]:
    return {file.name for file in product_files(*folders) if INSERTS.search(file.read_text("utf-8"))}


def test_items_are_inserted_nowhere_but_in_the_enqueue_path() -> None:
    found = inserting_files(LIBRARY, *ROOT.glob("hosts/*/src"))

    assert found
    assert found <= ENQUEUE_PATH


def test_an_insert_elsewhere_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "shortcut.py").write_text('QUERY = "INSERT INTO treadle.work_items (kind) values (%s)"\n')

    assert inserting_files(tmp_path) == {"shortcut.py"}


def test_the_library_names_no_kind_of_a_host() -> None:
    kinds = re.compile(r"token.cleanup|work.item.retention|\bcrawl|anichron|loryth", re.IGNORECASE)

    naming = {str(file) for file in product_files(LIBRARY) if kinds.search(file.read_text("utf-8"))}

    assert naming == set()
