"""The people who use the library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from anichron.database import Connection, Database, statement
from anichron.identity.passwords import Passwords
from treadle.errors import TreadleError

_SQL = "anichron.identity.sql"


class LastAdmin(TreadleError):
    """The user is the only admin who can sign in."""

    def __init__(self) -> None:
        super().__init__("this is the only admin who can sign in; make or enable another one first")


@dataclass(frozen=True, slots=True)
class User:
    """A user, without what only signing in needs."""

    id: UUID
    username: str
    is_admin: bool


@dataclass(frozen=True, slots=True)
class Account:
    """What signing in needs of a user."""

    id: UUID
    password_hash: str


@dataclass(frozen=True, slots=True)
class Profile:
    """A user as admins see them."""

    id: UUID
    username: str
    email: str | None
    is_admin: bool
    created_at: datetime
    disabled_at: datetime | None


class Users:
    """Users in the database."""

    def __init__(self, database: Database, passwords: Passwords | None = None) -> None:
        self._database = database
        self._passwords = passwords or Passwords()

    async def add(
        self, username: str, *, password: str, email: str | None = None, is_admin: bool = False
    ) -> User | None:
        """Add a user; None when the name or the address is taken. The password is kept as a hash only."""
        row = {
            "username": username,
            "email": email,
            "password_hash": await self._passwords.hash(password),
            "is_admin": is_admin,
        }
        async with self._database.connection() as connection:
            return await _user(connection, "add_user", row)

    async def find(self, name: str) -> User | None:
        """The user whose name or email this is."""
        async with self._database.connection() as connection:
            return await _user(connection, "find_user", {"name": name})

    async def an_admin(self) -> User | None:
        """The first admin who can sign in."""
        async with self._database.connection() as connection:
            return await _user(connection, "find_admin", {})

    async def account(self, name: str) -> Account | None:
        """The account of that name or email; None when there is none, or a disabled one."""
        async with (
            self._database.connection() as connection,
            connection.cursor(row_factory=class_row(Account)) as cursor,
        ):
            await cursor.execute(statement(_SQL, "find_account"), {"name": name})
            return await cursor.fetchone()

    async def rehash(self, account: Account, password_hash: str) -> str:
        """Keep another hash of the same password, unless it was changed meanwhile; the hash kept, or that of before."""
        values = {"id": account.id, "old": account.password_hash, "new": password_hash}
        async with self._database.connection() as connection:
            cursor = await connection.execute(statement(_SQL, "rehash_password"), values)
            return password_hash if cursor.rowcount else account.password_hash

    async def profiles(self) -> Sequence[Profile]:
        """Every user, by name."""
        async with (
            self._database.connection() as connection,
            connection.cursor(row_factory=class_row(Profile)) as cursor,
        ):
            await cursor.execute(statement(_SQL, "profiles"))
            return await cursor.fetchall()

    async def profile(self, user_id: UUID) -> Profile | None:
        """One user, None when there is none."""
        async with (
            self._database.connection() as connection,
            connection.cursor(row_factory=class_row(Profile)) as cursor,
        ):
            await cursor.execute(statement(_SQL, "profile"), {"id": user_id})
            return await cursor.fetchone()

    async def set_password(self, user_id: UUID, password: str) -> bool:
        """Give a user another password and end all their sessions; False when there is no such user."""
        values = {"id": user_id, "password_hash": await self._passwords.hash(password)}
        async with self._database.connection() as connection:
            cursor = await connection.execute(statement(_SQL, "set_password"), values)
            if cursor.rowcount:
                await connection.execute(statement(_SQL, "end_sessions"), {"id": user_id})
            return cursor.rowcount > 0

    async def enable(self, user_id: UUID) -> bool:
        """Let a user sign in again; False when there is no such user."""
        async with self._database.connection() as connection:
            cursor = await connection.execute(statement(_SQL, "enable_user"), {"id": user_id})
            return cursor.rowcount > 0

    async def disable(self, user_id: UUID) -> bool:
        """Keep a user out and end all their sessions; False when there is no such user. Raises ``LastAdmin``."""
        async with self._database.connection() as connection:
            # Two admins who disable each other at the same time would leave none.
            await connection.execute(statement(_SQL, "lock_admins"))
            cursor = await connection.execute(statement(_SQL, "disable_user"), {"id": user_id})
            if await (await connection.execute(statement(_SQL, "find_admin"))).fetchone() is None:
                raise LastAdmin
            await connection.execute(statement(_SQL, "end_sessions"), {"id": user_id})
            return cursor.rowcount > 0


async def _user(connection: Connection, name: str, values: Mapping[str, object]) -> User | None:
    async with connection.cursor(row_factory=class_row(User)) as cursor:
        await cursor.execute(statement(_SQL, name), values)
        return await cursor.fetchone()
