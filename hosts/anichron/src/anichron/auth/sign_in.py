"""Signing in, staying signed in, signing out, and who somebody is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from anichron.auth.access import AccessTokens
from anichron.auth.sessions import Session, Sessions, Visitor
from anichron.auth.throttle import Throttle
from anichron.identity.passwords import Passwords
from anichron.identity.users import Users


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a client keeps of its session."""

    access_token: str
    refresh_token: str
    expires_at: datetime
    """When the access token expires."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, by a valid access token."""

    visitor: Visitor
    expires_at: datetime
    """When that token expires, and with it whatever was opened with it."""


class SignIn:
    """The one place that turns passwords into tokens, and tokens into callers."""

    def __init__(
        self, users: Users, passwords: Passwords, sessions: Sessions, access: AccessTokens, throttle: Throttle
    ) -> None:
        self._users = users
        self._passwords = passwords
        self._sessions = sessions
        self._access = access
        self._throttle = throttle

    async def login(self, name: str, password: str, *, address: str) -> Tokens | None:
        """Begin a session; None for a name, password or user that is not let in, which all takes as long.

        Raises ``TooManyAttempts``, ``StoreUnavailable``.
        """
        await self._throttle.count(name, address)
        account = await self._users.account(name)
        hashed = account.password_hash if account else None
        if not await self._passwords.verify(password, hashed) or account is None:
            return None
        await self._throttle.take_back(name, address)
        hashed = account.password_hash
        if self._passwords.is_outdated(hashed):
            hashed = await self._users.rehash(account, await self._passwords.hash(password))
        opened = await self._sessions.open(account.id, password_hash=hashed)
        return await self._tokens(opened)

    async def refresh(self, token: str) -> Tokens | None:
        """Continue a session; None when it has ended. The old token is used up."""
        return await self._tokens(await self._sessions.refresh(token))

    async def logout(self, token: str) -> None:
        """End the session of a refresh token, its access tokens included."""
        await self._sessions.end(token)

    async def caller(self, access_token: str) -> Caller | None:
        """Who it is, as the database knows them now; None when the token or its session is over."""
        access = await self._access.read(access_token)
        if access is None:
            return None
        visitor = await self._sessions.visitor(access.session)
        return Caller(visitor, access.expires_at) if visitor else None

    async def _tokens(self, opened: tuple[Session, str] | None) -> Tokens | None:
        if opened is None:
            return None
        session, refresh_token = opened
        token, access = await self._access.issue(session)
        return Tokens(token, refresh_token, access.expires_at)
