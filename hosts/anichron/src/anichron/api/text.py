"""Text in requests that the database can store."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import AfterValidator, StringConstraints

PASSWORD_CHARACTERS: Final = 8
"""The least that NIST SP 800-63B allows."""


def _storable(text: str) -> str:
    if "\x00" in text:
        raise ValueError("must not contain NUL characters")
    return text


Name = Annotated[str, StringConstraints(min_length=1, max_length=320), AfterValidator(_storable)]
"""A name or an email address."""
Username = Annotated[str, StringConstraints(pattern=r"^[^\s@]{1,100}$"), AfterValidator(_storable)]
Email = Annotated[
    str, StringConstraints(pattern=r"^[^\s@]+@[^\s@]+$", max_length=320), AfterValidator(_storable)
]
NewPassword = Annotated[str, StringConstraints(min_length=PASSWORD_CHARACTERS, max_length=1_000)]
RootPath = Annotated[str, StringConstraints(pattern=r"^/", max_length=4_096), AfterValidator(_storable)]
