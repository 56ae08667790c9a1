"""Refresh tokens in the database."""

from __future__ import annotations

from anichron.database import Database, statement


class RefreshTokens:
    """What the Worker may do to refresh tokens: remove the expired ones."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def delete_expired(self, *, limit: int) -> int:
        """Delete up to *limit* expired tokens; how many it were."""
        async with self._database.connection() as connection:
            cursor = await connection.execute(
                statement("anichron.tokens.sql", "delete_expired"), {"limit": limit}
            )
            return cursor.rowcount
