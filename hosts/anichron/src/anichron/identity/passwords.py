"""Passwords: made up, hashed with Argon2id and verified, away from the event loop."""

from __future__ import annotations

import asyncio
import secrets
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

_AT_ONCE: Final = 2
"""Hashes at once: each takes 64 MiB and a core, and a flood of sign-ins must not take them all."""


def made_up() -> str:
    """A password that nobody guesses, short enough to be copied by hand."""
    return secrets.token_urlsafe(12)


class Passwords:
    """Hashes of passwords. Use it in one event loop."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._nobodys: str | None = None

    async def hash(self, password: str) -> str:
        """The hash with its salt and parameters, as it is stored."""
        async with self._turns:
            return await asyncio.to_thread(self._hasher.hash, password)

    async def verify(self, password: str, hashed: str | None) -> bool:
        """Whether it is the password; without a hash it takes as long as with one and is not."""
        if hashed is None and self._nobodys is None:
            self._nobodys = await self.hash(made_up())
        async with self._turns:
            matches = await asyncio.to_thread(self._matches, password, hashed or self._nobodys or "")
        return matches and hashed is not None

    def is_outdated(self, hashed: str) -> bool:
        """Whether it was made with other parameters than are used now."""
        return self._hasher.check_needs_rehash(hashed)

    def _matches(self, password: str, hashed: str) -> bool:
        try:
            return self._hasher.verify(hashed, password)
        except (VerificationError, InvalidHashError):
            return False
