"""Access tokens: signed, short-lived, and bound to a session."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

import jwt

from anichron.auth.sessions import Session
from anichron.database import Database, statement

_SQL = "anichron.auth.sql"
_ALGORITHM: Final = "HS256"
_AUDIENCE: Final = "anichron"


@dataclass(frozen=True, slots=True)
class Access:
    """What a valid access token says."""

    session: Session
    expires_at: datetime


class AccessTokens:
    """Issues and reads access tokens, all with one key."""

    def __init__(self, database: Database, *, key: str, life: timedelta) -> None:
        """Without a *key* the database keeps one, made at its first use, for all API processes."""
        self._database = database
        self._key = key
        self._life = life

    async def issue(self, session: Session) -> tuple[str, Access]:
        """A token for the session, and what it says."""
        now = datetime.now(UTC)
        expires_at = (now + self._life).replace(microsecond=0)
        claims = {
            "sub": str(session.user_id),
            "sid": str(session.family_id),
            "aud": _AUDIENCE,
            "iat": now,
            "exp": expires_at,
        }
        return jwt.encode(claims, await self._secret(), _ALGORITHM), Access(session, expires_at)

    async def read(self, token: str) -> Access | None:
        """What the token says; None when it is not ours, was changed or has expired."""
        try:
            claims = jwt.decode(
                token,
                await self._secret(),
                algorithms=[_ALGORITHM],
                audience=_AUDIENCE,
                options={"require": ["exp", "sub", "sid", "aud"]},
            )
            session = Session(user_id=UUID(claims["sub"]), family_id=UUID(claims["sid"]))
            return Access(session, datetime.fromtimestamp(claims["exp"], UTC))
        except (jwt.InvalidTokenError, ValueError, TypeError, AttributeError):
            return None

    async def _secret(self) -> str:
        if not self._key:
            async with self._database.connection() as connection:
                await connection.execute(statement(_SQL, "make_key"), {"secret": secrets.token_urlsafe(48)})
                row = await (await connection.execute(statement(_SQL, "read_key"))).fetchone()
            self._key = row[0] if row else ""
        return self._key
