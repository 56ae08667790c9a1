"""Settings: what they mean, and what is refused in one line that names the variable."""

import pytest

from loryth.settings import load, task
from treadle.errors import SettingsError
from treadle.task_scheduler import CronTask, PeriodicTask


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE_URL", "S3__BUCKET"):
        monkeypatch.delenv(name, raising=False)


def test_a_schedule_is_seconds_or_a_cron_expression() -> None:
    assert task("a", print, "0.5") == PeriodicTask("a", print, interval_seconds=0.5)
    assert task("a", print, "0 1 * * *", timezone="Europe/Berlin") == CronTask(
        "a", print, "0 1 * * *", timezone="Europe/Berlin"
    )


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("WORKER__CHORE_ITEM", "5", "WORKER__CHORE_ITEM is no setting"),
        ("WORKER", "on", "WORKER is no setting by itself"),
        ("WORKER__POLL_SECONDS", "0", "WORKER__POLL_SECONDS: input should be greater than 0"),
        ("WORKER__PLUGIN_HEALTH_SCHEDULE", "-1", "WORKER__PLUGIN_HEALTH_SCHEDULE: -1 seconds"),
        ("WORKER__PLUGIN_HEALTH_SCHEDULE", "nan", "WORKER__PLUGIN_HEALTH_SCHEDULE: nan seconds"),
        ("WORKER__DELETED_FILES_SCHEDULE", "61 * * * *", "61"),
        ("WORKER__TIMEZONE", "Mars", "WORKER__TIMEZONE: 'Mars' is no time zone"),
        ("S3__ENDPOINT_URL", "minio:9000", "S3__ENDPOINT_URL"),
        ("S3__SECRET_KEY", "hush", "S3__ACCESS_KEY and S3__SECRET_KEY are set together"),
        ("DATABASE_URL", "postgresql://u:hush@[", "DATABASE_URL cannot be read"),
    ],
)
def test_what_makes_no_sense_is_refused_and_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, told: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as refusal:
        load()
    assert told in str(refusal.value)
    assert name in str(refusal.value)
    assert "hush" not in str(refusal.value)


def test_what_a_command_needs_is_asked_for() -> None:
    with pytest.raises(SettingsError, match="set DATABASE_URL"):
        _ = load().conninfo
    with pytest.raises(SettingsError, match="set S3__BUCKET"):
        _ = load().store
