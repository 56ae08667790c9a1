# ruff: noqa: INP001 - a script beside the page it makes
"""Write docs/schema.sql from the migrations: `python docs/schema.py`."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from treadle.embedded import EmbeddedPostgres
from treadle.embedded.binaries import find_binaries
from treadle.postgres.migrate import migrate

PAGE = Path(__file__).with_name("schema.sql")
HEAD = """\
-- The schema that the migrations in src/treadle/postgres/migrations lead to. Made by docs/schema.py; do not edit.
"""


def dump(dsn: str) -> str:
    """The schema ``treadle`` of the database at *dsn*, without what differs between servers and runs."""
    program = find_binaries(None, None).program("pg_dump")
    arguments = [
        program,
        "--schema-only",
        "--schema=treadle",
        "--no-owner",
        "--no-privileges",
        "--dbname",
        dsn,
    ]
    text = subprocess.run(arguments, check=True, capture_output=True, text=True).stdout
    kept = [
        line for line in text.splitlines() if not re.match(r"--|\\|SET |SELECT pg_catalog\.set_config", line)
    ]
    return HEAD + "\n" + re.sub(r"\n{2,}", "\n\n", "\n".join(kept)).strip() + "\n"


def main() -> int:
    """Start a server for the moment, migrate, dump."""
    with tempfile.TemporaryDirectory(prefix="treadle-schema-") as folder:
        Path(folder).chmod(0o711)
        with EmbeddedPostgres(Path(folder), fsync=False) as server:
            migrate(server.dsn)
            PAGE.write_text(dump(server.dsn), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
