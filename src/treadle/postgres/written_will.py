"""The last will of a worker, written while it still lives."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.sql import Literal

from treadle.domain.item import Lease
from treadle.ports.lease import LastWill
from treadle.postgres import last_will
from treadle.postgres.statements import statement

TRANSACTION: Final = (
    "rollback; begin isolation level read committed; set local lock_timeout = 400;"
    " set local synchronous_commit = off;\n{}\n; commit"
)
"""What a will does in one go; a failed transaction before it is still open then.

Hundreds have to fit into a second, so none waits for the disk: a server that crashes and loses one leaves its
item to recovery.
"""


class WrittenWill:
    """Releases *leases* in whole transactions, on a connection that outlives the program."""

    def __init__(self, conninfo: str, leases: Sequence[Lease]) -> None:
        self._conninfo = conninfo
        self._leases = leases
        self._connection: psycopg.Connection | None = None

    def will(self) -> LastWill:
        """The program to become."""
        text = json.dumps({"conninfo": self._conninfo, "acts": [_act(lease) for lease in self._leases]})
        return LastWill(
            # -P: the folder of the program has modules that are named like those of the standard library.
            arguments=[sys.executable, "-P", str(Path(last_will.__file__))],
            environment={**os.environ, last_will.VARIABLE: str(_descriptor(text))},
            prepare=self._prepare,
        )

    def _prepare(self) -> LastWill:
        will = self.will()
        if conninfo_to_dict(self._conninfo).get("gssencmode") == "require":
            return will
        # Kept, or its destructor would sign off.
        self._connection = psycopg.connect(
            make_conninfo(self._conninfo, gssencmode="disable"), autocommit=True
        )
        if self._connection.pgconn.ssl_in_use:
            return will
        descriptor = os.dup(self._connection.fileno())
        os.set_inheritable(descriptor, True)
        # The driver is not needed then, and looking for packages takes time.
        python, _, program = will.arguments
        return LastWill(
            arguments=[python, "-I", "-S", program],
            environment={**will.environment, last_will.SOCKET_VARIABLE: str(descriptor)},
        )


def _descriptor(text: str) -> int:
    """A descriptor that outlives the program, of a file without a name that holds *text*."""
    with _unnamed_file() as file:
        file.write(text.encode())
        file.seek(0)
        descriptor = os.dup(file.fileno())
    os.set_inheritable(descriptor, True)
    return descriptor


def _unnamed_file() -> IO[bytes]:
    if hasattr(os, "memfd_create"):  # A container may have no folder to write to.
        return os.fdopen(os.memfd_create("treadle-last-will"), "w+b")
    return tempfile.TemporaryFile()


def _act(lease: Lease) -> dict[str, str]:
    values = {
        "id": lease.item_id,
        "attempt": lease.attempt,
        "stalls": lease.stalls,
        "dedup_key": lease.dedup_key,
        "claimed_by": None,
        **dict.fromkeys(("done", "total", "note", "now")),
        "expired": False,
        "stall": 0,
    }
    literals = {name: Literal(value).as_string(None) for name, value in values.items()}
    return {
        "item": str(lease.item_id),
        "release": TRANSACTION.format(statement("release") % literals),
        "merge": TRANSACTION.format(statement("merge_into_twin") % literals),
    }
