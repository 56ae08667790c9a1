"""The first admin, without whom nobody could let anybody in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from anichron.identity.passwords import made_up
from anichron.identity.users import User, Users
from treadle.errors import TreadleError

NAME: Final = "admin"


async def ensure_admin(users: Users, say: Callable[[str], None]) -> User | None:
    """Make the user ``admin`` if no admin can sign in, and say the password, this once.

    The admin there was already, None when one was made. Raises ``TreadleError`` when the name is taken.
    """
    if admin := await users.an_admin():
        return admin
    password = made_up()
    if await users.add(NAME, password=password, is_admin=True):
        say(f"admin: {NAME}   password: {password}")
        return None
    if admin := await users.an_admin():  # another process was faster
        return admin
    raise TreadleError(
        f"nobody who can sign in is an admin, and the name {NAME} is taken; "
        "`anichron add-user --admin NAME` makes one of another name"
    )
