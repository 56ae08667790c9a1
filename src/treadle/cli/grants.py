"""The SQL that gives an API role and a Worker role what each may do, and no more."""

from __future__ import annotations

from psycopg import sql

from treadle.errors import SettingsError
from treadle.postgres.statements import statement


def grants(*, api_role: str, worker_role: str) -> str:
    """The statements for psql; the roles' names are quoted whatever is in them.

    Raises ``SettingsError`` for a name that PostgreSQL cannot have.
    """
    for name in (api_role, worker_role):
        if not name or "\x00" in name or len(name.encode()) > 63:
            raise SettingsError(f"{name!r} cannot be a role's name: give 1 to 63 bytes of text")
    if api_role == worker_role:
        raise SettingsError(f"the API and the Worker need a role each, and both are {api_role!r}")
    lines = statement("grants").splitlines()
    text = "\n".join(line for line in lines if not line.startswith("--"))
    for variable, name in (("api_role", api_role), ("worker_role", worker_role)):
        text = text.replace(f':"{variable}"', sql.Identifier(name).as_string())
    return text
