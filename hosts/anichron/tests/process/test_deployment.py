"""The deployment files: what they mount and forbid, and that processes start with exactly their environments."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from psycopg.conninfo import conninfo_to_dict

from anichron.up.sample import make_sample
from hosts.anichron.tests.process.program import Program, await_rows, rows
from tests.process.host_program import free_port

Start = Callable[..., Program]

DEPLOY = Path(__file__).parents[4] / "deploy"
DATABASE = "POSTGRES_CONNECTION__"

pytestmark = pytest.mark.timeout(120)


@dataclass(frozen=True)
class Service:
    """One process as a file describes it."""

    commands: list[str]
    environment: dict[str, str]
    mounts: dict[str, bool] = field(default_factory=dict)
    """By path inside: whether it can be written to."""


def compose() -> dict[str, Any]:
    return cast("dict[str, Any]", yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8")))


def composed() -> dict[str, Service]:
    found = {}
    for name, service in compose()["services"].items():
        mounts = [volume.split(":") for volume in service.get("volumes", [])]
        started = " ".join(service.get("entrypoint", ["anichron", *service.get("command", [])]))
        found[name] = Service(
            commands=re.findall(r"anichron (\w+)", started),
            environment={key: str(value) for key, value in service["environment"].items()},
            mounts={inside: options != ["ro"] for _, inside, *options in mounts},
        )
    return found


def unit(name: str, instance: str = "") -> Service:
    text = (DEPLOY / "systemd" / name).read_text("utf-8").replace("%i", instance)
    lines = [line.partition("=") for line in text.splitlines() if "=" in line and not line.startswith("#")]
    values: dict[str, list[str]] = {}
    for key, _, value in lines:
        values.setdefault(key, []).append(value)
    commands = [*values.get("ExecStartPre", []), *values["ExecStart"]]
    assert all(command.startswith("/opt/anichron/bin/anichron ") for command in commands)
    binds = [
        (key == "BindPaths", value)
        for key in ("BindPaths", "BindReadOnlyPaths")
        for value in values.get(key, [])
    ]
    return Service(
        commands=[command.split()[1] for command in commands],
        environment=dict(line.split("=", 1) for line in values["Environment"]),
        mounts={value.split(":")[1]: writable for writable, value in binds},
    )


def units() -> dict[str, Service]:
    return {
        "api": unit("anichron-api.service"),
        "worker-ada": unit("anichron-worker@.service", "ada"),
        "worker-bob": unit("anichron-worker@.service", "bob"),
        "worker-all": unit("anichron-worker.service"),
    }


SHAPES = {"compose": composed, "systemd": units}


@pytest.fixture(params=SHAPES)
def services(request: pytest.FixtureRequest) -> dict[str, Service]:
    """The services of one kind of file, by name."""
    return SHAPES[request.param]()


def test_there_is_no_container_beside_database_api_and_workers() -> None:
    assert set(compose()["services"]) == {"db", "api", "worker-ada", "worker-bob", "worker-all"}


def test_nothing_of_docker_is_mounted() -> None:
    assert "docker.sock" not in (DEPLOY / "compose.yaml").read_text("utf-8")


def test_originals_are_read_only_and_of_the_served_user_only(services: dict[str, Service]) -> None:
    originals = {
        name: {
            path: writable for path, writable in service.mounts.items() if path.startswith("/data/originals")
        }
        for name, service in services.items()
        if name != "db"
    }
    assert originals == {
        "api": {},
        "worker-ada": {"/data/originals/ada": False},
        "worker-bob": {"/data/originals/bob": False},
        "worker-all": {"/data/originals": False},
    }


def test_proxies_are_written_by_workers_only(services: dict[str, Service]) -> None:
    proxies = {name: service.mounts["/data/proxies"] for name, service in services.items() if name != "db"}
    assert proxies == {"api": False, "worker-ada": True, "worker-bob": True, "worker-all": True}


def test_a_worker_gets_longer_to_stop_than_its_grace() -> None:
    from anichron.settings import WorkerSection

    grace = WorkerSection().shutdown_grace_seconds + 1
    for name, service in compose()["services"].items():
        if name.startswith("worker"):
            assert float(service["stop_grace_period"].removesuffix("s")) > grace
    for name in ("anichron-worker.service", "anichron-worker@.service"):
        found = re.search(
            r"^TimeoutStopSec=(\d+)$", (DEPLOY / "systemd" / name).read_text("utf-8"), re.MULTILINE
        )
        assert found is not None
        assert float(found[1]) > grace


def test_processes_with_these_environments_are_the_system_that_the_page_describes(
    anichron: Start, empty_dsn: str, tmp_path: Path, services: dict[str, Service]
) -> None:
    for name in ("ada", "bob"):
        make_sample(tmp_path / "originals" / name, count=1)
    parts = conninfo_to_dict(empty_dsn)
    database = {
        f"{DATABASE}{name.upper()}": str(parts.get(name, ""))
        for name in ("host", "port", "dbname", "user", "password")
    }
    port = free_port()

    def environment(service: Service) -> Mapping[str, str]:
        mapped = {
            name: value.replace("/data/", f"{tmp_path}/") for name, value in service.environment.items()
        }
        # The units have the database in a file beside them.
        assert set(database) >= {name for name in mapped if name.startswith(DATABASE)}
        mapped |= database
        return mapped | ({"API__PORT": str(port)} if "API__PORT" in mapped else {})

    def start(service: Service) -> Program:
        *before, last = service.commands
        for command in before:
            assert anichron(command, **environment(service)).end() == 0
        return anichron(last, **environment(service))

    api = start(services["api"])
    api.line_with("startup complete")
    for name in ("ada", "bob"):
        assert anichron("add-user", name, **environment(services["api"])).end() == 0
    workers = [start(services[f"worker-{name}"]) for name in ("ada", "bob")]
    query = (
        "select split_part(claimed_by, '@', 1), root_path from treadle.work_items i"
        " join anichron.storage_configs c on c.id = i.scope_id where status = 'succeeded' order by 1"
    )
    mine = [("ada", str(tmp_path / "originals" / "ada")), ("bob", str(tmp_path / "originals" / "bob"))]
    await_rows(empty_dsn, query, mine)
    assert [worker.stop() for worker in workers] == [0, 0]

    others = make_sample(tmp_path / "originals" / "more", count=1)
    assert anichron("add-folder", "ada", others, **environment(services["api"])).end() == 0
    everybody = start(services["worker-all"])
    await_rows(empty_dsn, query, [mine[0], ("all", str(others)), mine[1]])
    assert rows(empty_dsn, "select count(*) from anichron.media_assets") == [(3,)]
    assert everybody.stop() == 0
    assert api.stop() == 0
