"""Every setting by environment: its default, its refusal of nonsense, and the silence about secrets."""

import pytest

from anichron.settings import Settings, load, variable
from treadle.errors import SettingsError

# The design's table.
DEFAULTS = {
    "WORKER__USER": "",
    "WORKER__ROOT_PATH": "/data/originals",
    "WORKER__PROXY_PATH": "/data/proxies",
    "WORKER__CRAWL_INTERVAL_HOURS": "4",
    "WORKER__MAX_CONCURRENT_FILES": "4",
    "WORKER__TOKEN_CLEANUP_INTERVAL_HOURS": "24",
    "WORKER__HEARTBEAT_SECONDS": "2",
    "WORKER__LEASE_SECONDS": "60",
    "WORKER__POLL_SECONDS": "2",
    "WORKER__STALL_LIMIT": "3",
    "WORKER__CONCURRENCY": "1",
    "WORKER__SHUTDOWN_GRACE_SECONDS": "8",
    "WORKER__RETENTION_DAYS": "30",
    "WORKER__RETENTION_INTERVAL_HOURS": "24",
    "API__LIVE_INTERVAL_SECONDS": "2",
    "API__ACCESS_TOKEN_MINUTES": "15",
    "API__REFRESH_TOKEN_DAYS": "30",
}
TIMES = [name for name in DEFAULTS if name.endswith(("_SECONDS", "_MINUTES", "_HOURS", "_DAYS"))]
COUNTS = ["WORKER__MAX_CONCURRENT_FILES", "WORKER__STALL_LIMIT", "WORKER__CONCURRENCY"]


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*DEFAULTS, "DATABASE_URL", "API__HOST", "API__PORT", "API__SECRET_KEY"]:
        monkeypatch.delenv(name, raising=False)
    for part in ("HOST", "PORT", "DBNAME", "USER", "PASSWORD"):
        monkeypatch.delenv(f"POSTGRES_CONNECTION__{part}", raising=False)


def value(settings: Settings, name: str) -> object:
    section, field = name.lower().split("__")
    return getattr(getattr(settings, section), field)


@pytest.mark.parametrize("name", DEFAULTS)
def test_every_setting_has_the_default_of_the_design(name: str) -> None:
    assert str(value(load(), name)).removesuffix(".0") == DEFAULTS[name]


@pytest.mark.parametrize("name", TIMES)
def test_every_time_takes_a_fraction(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("WORKER__HEARTBEAT_SECONDS", "0.01")
    monkeypatch.setenv(name, "0.25")
    assert value(load(), name) == 0.25


@pytest.mark.parametrize("name", TIMES + COUNTS)
@pytest.mark.parametrize("nonsense", ["0", "-1", "soon", "", "nan", "inf", "1e300"])
def test_nonsense_is_refused_in_one_line_that_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, nonsense: str
) -> None:
    monkeypatch.setenv(name, nonsense)
    with pytest.raises(SettingsError) as refusal:
        load()
    assert name in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", COUNTS)
def test_a_count_takes_no_fraction(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "1.5")
    with pytest.raises(SettingsError, match=name):
        load()


def test_a_heartbeat_must_fit_its_lease_three_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKER__LEASE_SECONDS", "3")
    monkeypatch.setenv("WORKER__HEARTBEAT_SECONDS", "1")
    assert load().worker.heartbeat_seconds == 1
    monkeypatch.setenv("WORKER__HEARTBEAT_SECONDS", "1.1")
    with pytest.raises(
        SettingsError, match=r"WORKER__HEARTBEAT_SECONDS .* at most 1, or the lease to at least 3.3"
    ):
        load()


def test_all_that_is_wrong_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKER__POLL_SECONDS", "never")
    monkeypatch.setenv("API__PORT", "70000")
    with pytest.raises(SettingsError, match=r"WORKER__POLL_SECONDS: .*; API__PORT: "):
        load()


@pytest.mark.parametrize("name", ["WORKER__HEARTBEAT", "API__PROT"])
def test_a_misspelt_setting_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "1")
    with pytest.raises(SettingsError, match=f"{name} is no setting"):
        load()


@pytest.mark.parametrize("name", ["WORKER", "API"])
def test_a_whole_section_in_one_variable_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "on")
    with pytest.raises(SettingsError, match=f"unset it, its settings are {name}__"):
        load()


@pytest.mark.parametrize("name", ["WORKER__ROOT_PATH", "WORKER__PROXY_PATH"])
def test_a_relative_folder_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "photos")
    with pytest.raises(SettingsError, match=f"{name} must be an absolute path"):
        load()


def test_the_database_is_named_by_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for part, text in {"HOST": "db", "PORT": "5433", "DBNAME": "a", "USER": "u", "PASSWORD": "p w'"}.items():
        monkeypatch.setenv(f"POSTGRES_CONNECTION__{part}", text)
    from psycopg.conninfo import conninfo_to_dict

    assert conninfo_to_dict(load().conninfo) == {
        "host": "db",
        "port": "5433",
        "dbname": "a",
        "user": "u",
        "password": "p w'",
    }


def test_one_address_wins_over_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTGRES_CONNECTION__HOST", "db")
    monkeypatch.setenv("DATABASE_URL", "postgresql://u:p@elsewhere:5432/d")
    assert load().conninfo == "postgresql://u:p@elsewhere:5432/d"


def test_no_database_at_all_is_said_when_one_is_needed() -> None:
    assert not load().has_database
    with pytest.raises(SettingsError, match="DATABASE_URL"):
        _ = load().conninfo


def test_secrets_are_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTGRES_CONNECTION__PASSWORD", "hush1")
    monkeypatch.setenv("DATABASE_URL", "postgresql://u:hush2@h/d")
    monkeypatch.setenv("API__SECRET_KEY", "hush" * 8)
    shown = f"{load()!r} {load()} {load().model_dump_json()}"
    assert "hush" not in shown
    monkeypatch.setenv("DATABASE_URL", "hush3")
    with pytest.raises(SettingsError, match="DATABASE_URL") as refusal:
        load()
    assert "hush" not in str(refusal.value)


def test_a_key_that_is_too_short_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API__SECRET_KEY", "hush" * 8)
    assert load().api.secret_key.get_secret_value() == "hush" * 8
    monkeypatch.setenv("API__SECRET_KEY", "hush" * 7)
    with pytest.raises(SettingsError, match="API__SECRET_KEY must have 32 characters") as refusal:
        load()
    assert "hush" not in str(refusal.value)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:8080"),
        ("0.0.0.0", "http://127.0.0.1:8080"),
        ("::", "http://[::1]:8080"),
        ("nas.local", "http://nas.local:8080"),
    ],
)
def test_the_api_s_address_is_one_that_a_browser_here_can_open(
    monkeypatch: pytest.MonkeyPatch, host: str, address: str
) -> None:
    monkeypatch.setenv("API__HOST", host)
    assert load().api.address == address


def test_a_setting_s_place_is_its_variable() -> None:
    assert variable("worker", "poll_seconds") == "WORKER__POLL_SECONDS"
