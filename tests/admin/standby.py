"""A second server that follows a first one, for tests that lose the first."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from treadle.embedded import EmbeddedPostgres
from treadle.embedded.binaries import find_binaries

REPLICATION = {"max_prepared_transactions": "5"}


def standby_of(primary: EmbeddedPostgres, folder: Path) -> EmbeddedPostgres:
    """A server in *folder*, not started yet, that follows *primary* from where it is now."""
    data = folder / "data"
    backup = [find_binaries(None, None).program("pg_basebackup"), "-D", str(data), "-d", primary.dsn]
    subprocess.run([*backup, "-R", "-X", "stream", "-c", "fast"], check=True, timeout=60)
    shutil.copy(primary.folder / "password", folder / "password")
    if os.geteuid() == 0:
        owner = (primary.folder / "data").stat()
        for path in (data, *data.rglob("*")):
            os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)
    return EmbeddedPostgres(folder, fsync=False, settings=REPLICATION)
