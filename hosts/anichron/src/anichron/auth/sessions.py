"""Sessions in the database: chains of refresh tokens, each good for one use."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from psycopg.rows import class_row

from anichron.database import Connection, Database, statement

_SQL = "anichron.auth.sql"


@dataclass(frozen=True, slots=True)
class Session:
    """What one sign-in began: the family of refresh tokens that descend from it."""

    user_id: UUID
    family_id: UUID


@dataclass(frozen=True, slots=True)
class Visitor:
    """The user that a session is of."""

    id: UUID
    username: str
    email: str | None
    is_admin: bool


class Sessions:
    """Sessions of all users. Refresh tokens are random, and only their hashes are stored."""

    def __init__(self, database: Database, *, life: timedelta) -> None:
        """*life* is how long a session lasts after its last refresh."""
        self._database = database
        self._seconds = life.total_seconds()

    async def open(self, user_id: UUID, *, password_hash: str) -> tuple[Session, str] | None:
        """Begin a session; it and its refresh token. None when the hash is no longer the user's."""
        token = secrets.token_urlsafe(32)
        async with self._database.connection() as connection:
            values = {"user_id": user_id, "password_hash": password_hash, "seconds": self._seconds}
            session = await _session(connection, "open_session", {**values, "token_hash": _hash(token)})
        return (session, token) if session else None

    async def refresh(self, token: str) -> tuple[Session, str] | None:
        """Continue the token's session with another token; None when it has ended.

        A token that comes a second time was stolen, from or by the one who used it first: the session ends.
        """
        old, fresh = {"token_hash": _hash(token)}, secrets.token_urlsafe(32)
        async with self._database.connection() as connection:
            # Or a refresh at the same time could issue a token that the end of its session does not see.
            await connection.execute(statement(_SQL, "lock_owner"), old)
            session = await _session(connection, "use_token", old)
            if session is None:
                await connection.execute(statement(_SQL, "end_session"), old)
                return None
            await connection.execute(
                statement(_SQL, "continue_session"),
                {
                    "user_id": session.user_id,
                    "family_id": session.family_id,
                    "token_hash": _hash(fresh),
                    "seconds": self._seconds,
                },
            )
        return session, fresh

    async def end(self, token: str) -> None:
        """End the token's session, if there is one."""
        values = {"token_hash": _hash(token)}
        async with self._database.connection() as connection:
            await connection.execute(statement(_SQL, "lock_owner"), values)
            await connection.execute(statement(_SQL, "end_session"), values)

    async def visitor(self, session: Session) -> Visitor | None:
        """The session's user as they are now; None when either may not be used any more."""
        async with (
            self._database.connection() as connection,
            connection.cursor(row_factory=class_row(Visitor)) as cursor,
        ):
            values = {"user_id": session.user_id, "family_id": session.family_id}
            await cursor.execute(statement(_SQL, "find_visitor"), values)
            return await cursor.fetchone()


async def _session(connection: Connection, name: str, values: Mapping[str, object]) -> Session | None:
    async with connection.cursor(row_factory=class_row(Session)) as cursor:
        await cursor.execute(statement(_SQL, name), values)
        return await cursor.fetchone()


def _hash(token: str) -> bytes:
    # A fast hash will do: the token is random, so there is nothing to guess.
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
