"""The user that a server started by root runs as, since PostgreSQL refuses to run as root."""

import os
import pwd
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from treadle.embedded.errors import EmbeddedError


@dataclass(frozen=True)
class Account:
    """A user of this machine; `name` is empty for one that only owns files."""

    name: str
    uid: int
    gid: int
    groups: list[int] = field(default_factory=list)

    @property
    def identity(self) -> str:
        """The form that the keeper takes."""
        return f"{self.uid}:{self.gid}:{','.join(map(str, self.groups))}"

    def can(self, test: str, path: Path) -> bool:
        """Whether this user may do with `path` what the shell's `test -x`, `-w` ... asks. Needs root."""
        command = ["/bin/sh", "-c", f'test {test} "$0"', str(path)]
        done = subprocess.run(
            command, user=self.uid, group=self.gid, extra_groups=self.groups, cwd="/", check=False
        )
        return done.returncode == 0


def account_for(data: Path) -> Account | None:
    """The user that serves `data`, None for oneself.

    For root it is the owner of the data there already is, or else the first of `TREADLE_PG_USER`, `postgres` and
    `nobody` that is set or exists.

    Raises EmbeddedError for data that belongs to somebody else, and where root has nobody to run the server as.
    """
    owner = data.stat().st_uid if data.exists() else None
    if os.geteuid() != 0:
        if owner not in (None, os.geteuid()):
            raise EmbeddedError(f"{data} belongs to {_name(owner)}: start it as root or as that user")
        return None
    if owner is not None:
        return _owner(data)
    named = os.environ.get("TREADLE_PG_USER")
    for name in [named] if named else ["postgres", "nobody"]:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid != 0:
            return Account(name, entry.pw_uid, entry.pw_gid, os.getgrouplist(name, entry.pw_gid))
    raise EmbeddedError(
        (f"{named} is no user" if named else "neither postgres nor nobody is a user")
        + " that root can run PostgreSQL as: name one in TREADLE_PG_USER, or start as an ordinary user"
    )


def _owner(data: Path) -> Account:
    status = data.stat()
    if status.st_uid == 0:
        raise EmbeddedError(
            f"{data} belongs to root, as whom PostgreSQL refuses to run: give it to another user"
        )
    name = _name(status.st_uid)
    if name.isdigit():
        return Account("", status.st_uid, status.st_gid)
    return Account(name, status.st_uid, status.st_gid, os.getgrouplist(name, status.st_gid))


def _name(uid: int | None) -> str:
    try:
        return pwd.getpwuid(uid or 0).pw_name
    except KeyError:
        return str(uid)
