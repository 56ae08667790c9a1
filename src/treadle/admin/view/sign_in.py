"""How people sign in to the page: what a host's own authentication asks of a browser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordSignIn:
    """A name and a password for tokens.

    ``POST login {username, password}`` answers ``{access_token, refresh_token, expires_in}``. ``POST refresh
    {refresh_token}`` answers the same, ``POST logout {refresh_token}`` revokes. *expires_in* (seconds) lets the
    page renew before the end; without it, and without *refresh_token*, it renews or asks again when refused.
    Addresses are absolute, or relative to the page.
    """

    login: str = "/api/v1/auth/login"
    refresh: str | None = "/api/v1/auth/refresh"
    logout: str | None = "/api/v1/auth/logout"
    way: Literal["password"] = "password"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSignIn:
    """A bearer token that people have from elsewhere and paste."""

    label: str = "Access token"
    way: Literal["token"] = "token"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySignIn:
    """A proxy in front has let in who reaches the page; requests carry no token of the page's own."""

    way: Literal["proxy"] = "proxy"


SignIn = PasswordSignIn | TokenSignIn | ProxySignIn
