"""The SQL, one file per statement."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import LiteralString


@cache
def statement(name: str) -> LiteralString:
    """The text of ``sql/<name>.sql``."""
    # Only files of this package are read, so the text is as fixed as a literal.
    return files(__package__).joinpath("sql", f"{name}.sql").read_text("utf-8")
