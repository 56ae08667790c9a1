"""Paths as text that PostgreSQL can store: any sequence of bytes, there and back."""

import os
import re

_ESCAPE = re.compile(r"\\(\\|x[0-9a-f]{2})")


def to_text(path: str) -> str:
    r"""The path with backslashes doubled and each byte that is no UTF-8 written as ``\xNN``."""
    return os.fsencode(path).replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")


def from_text(text: str) -> str:
    """The path that `to_text` made the text of."""
    pieces = _ESCAPE.split(text)
    literal, escapes = pieces[::2], pieces[1::2]
    path = literal[0].encode()
    for escape, following in zip(escapes, literal[1:], strict=True):
        path += (b"\\" if escape == "\\" else bytes.fromhex(escape[1:])) + following.encode()
    return os.fsdecode(path)
