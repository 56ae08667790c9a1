"""The people who use the library."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from argon2 import PasswordHasher
from psycopg.rows import class_row

from anichron.database import Database, statement

_SQL = "anichron.identity.sql"


@dataclass(frozen=True, slots=True)
class User:
    """A user, without what only signing in needs."""

    id: UUID
    username: str
    is_admin: bool


class Users:
    """Users in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(
        self, username: str, *, password: str, email: str | None = None, is_admin: bool = False
    ) -> User | None:
        """Add a user; None when the name or the address is taken. The password is kept as a hash only."""
        row = {
            "username": username,
            "email": email,
            "password_hash": PasswordHasher().hash(password),
            "is_admin": is_admin,
        }
        async with (
            self._database.connection() as connection,
            connection.cursor(row_factory=class_row(User)) as cursor,
        ):
            await cursor.execute(statement(_SQL, "add_user"), row)
            return await cursor.fetchone()

    async def find(self, name: str) -> User | None:
        """The user whose name or email this is."""
        async with (
            self._database.connection() as connection,
            connection.cursor(row_factory=class_row(User)) as cursor,
        ):
            await cursor.execute(statement(_SQL, "find_user"), {"name": name})
            return await cursor.fetchone()
