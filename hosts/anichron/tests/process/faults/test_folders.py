"""Which files workers open, as the kernel tells."""

import signal
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from anichron.up.sample import make_sample
from hosts.anichron.tests.process.faults.crawling import add_config, await_crawl, settings, until
from hosts.anichron.tests.process.faults.opened import Opened
from hosts.anichron.tests.process.program import Program

Start = Callable[..., Program]

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]

OFTEN = {"WORKER__CRAWL_INTERVAL_HOURS": 0.0001}
"""A crawl every 0.4 s."""
CONFIGS = {
    "ada": UUID("00000000-0000-7000-8000-00000000000a"),
    "bob": UUID("00000000-0000-7000-8000-00000000000b"),
}


def await_crawls(dsn: str, user: str, *, more: int) -> None:
    """Return after so many more crawls of the user's folder."""
    count = "select count(*) as n from treadle.work_items where scope_id = %s and status = 'succeeded'"
    before = until(dsn, count, CONFIGS[user])["n"]
    until(dsn, f"{count} having count(*) >= %s", CONFIGS[user], before + more)


def test_per_user_workers_never_open_each_other_s_folders_and_an_all_user_worker_opens_all(
    anichron: Start, anichron_dsn: str, tmp_path: Path
) -> None:
    roots = {user: make_sample(tmp_path / user, count=2) for user in CONFIGS}
    workers = {}
    for user, config in CONFIGS.items():
        add_config(anichron_dsn, roots[user], config=config, user=user)
        own = {"WORKER__USER": user, "WORKER__ROOT_PATH": roots[user]}
        workers[user] = anichron("worker", **settings(anichron_dsn, tmp_path / "proxies", **own, **OFTEN))
        await_crawls(anichron_dsn, user, more=1)
    for user, other in (("ada", "bob"), ("bob", "ada")):
        # While the other's worker stands still, whoever opens its folder is not that worker.
        workers[other].process.send_signal(signal.SIGSTOP)
        with Opened(roots[other]) as foreign, Opened(roots[user]) as own_folder:
            await_crawls(anichron_dsn, user, more=3)
            assert own_folder.since()[0] > 0  # or the watch would prove nothing
            assert foreign.since()[0] == 0
        workers[other].process.send_signal(signal.SIGCONT)
    for worker in workers.values():
        worker.process.send_signal(signal.SIGSTOP)
    with Opened(roots["ada"]) as ada, Opened(roots["bob"]) as bob:
        anichron("worker", **settings(anichron_dsn, tmp_path / "proxies", **OFTEN))
        for user in CONFIGS:
            await_crawls(anichron_dsn, user, more=2)
        assert ada.since()[0] > 0
        assert bob.since()[0] > 0


@pytest.mark.parametrize("files", [1, 3])
def test_as_many_files_as_set_are_open_at_once_and_never_more(
    anichron: Start, anichron_dsn: str, originals: Path, tmp_path: Path, files: int
) -> None:
    add_config(anichron_dsn, originals)
    with Opened(originals) as opened:
        at_once = {"WORKER__MAX_CONCURRENT_FILES": files}
        anichron("worker", **settings(anichron_dsn, tmp_path / "proxies", **at_once))
        assert await_crawl(anichron_dsn, "finished_at is not null")["status"] == "succeeded"
        _, history = opened.since()
    assert len(history) >= 2 * 40
    assert max(history) == files
    assert history[-1] == 0
