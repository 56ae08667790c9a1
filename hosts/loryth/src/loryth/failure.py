"""Errors in a line: for columns, for the log, and for the health, which everybody may read."""

from __future__ import annotations

import re
from typing import Final

LENGTH: Final = 500

_USER_INFO: Final = re.compile(r"(?<=://)[^/\s@]+@")


def in_a_line(error: BaseException) -> str:
    """Class and message of an error, in one storable line without the user and password of any address."""
    try:
        message = " ".join(str(error).replace("\0", " ").split())
    except Exception:  # noqa: BLE001 - the error's own text raises
        message = "(its text cannot be made)"
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    # A lone surrogate is not storable.
    text = without_user_info(text).encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= LENGTH else text[: LENGTH - 1] + "…"


def without_user_info(text: str) -> str:
    """*text* without the user and password of the addresses in it."""
    return _USER_INFO.sub("", text)
