"""The first admin, who exists once the system has started for the first time."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from anichron.auth.first_admin import NAME
from anichron.identity.passwords import made_up
from anichron.identity.users import User, Users
from treadle.errors import TreadleError


async def first_admin(users: Users, kept: Path, say: Callable[[str], None]) -> User:
    """The user ``admin``, made with a password that is said once and kept in the file *kept*, for the owner's eyes."""
    # Kept first: a start that is cut short must not leave an admin whose password nobody knows.
    is_new, password = _kept_password(kept)
    if made := await users.add(NAME, password=password, is_admin=True):
        say(f"admin: {NAME}   password: {password}")
        return made
    if is_new:
        _forget(kept)
        say(f"admin: {NAME}   password: as it was set when {NAME} was made")
    else:
        say(f"admin: {NAME}   password: said at the first start, kept in {kept}")
    user = await users.find(NAME)
    if user is None:
        raise TreadleError(f"the user {NAME} was deleted just now; start again")
    return user


def _kept_password(path: Path) -> tuple[bool, str]:
    if path.exists():
        return False, path.read_text("utf-8").strip()
    password = made_up()
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(
        os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
    ) as file:
        file.write(f"{password}\n")
    fresh.rename(path)
    return True, password


def _forget(path: Path) -> None:
    path.unlink()
