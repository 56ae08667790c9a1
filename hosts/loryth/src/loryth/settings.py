"""Every setting of Loryth, from the environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final, Self

import psycopg
from annotated_types import Ge, Gt, Le
from psycopg.conninfo import conninfo_to_dict
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict
from pydantic_settings import SettingsError as UnreadableSettings

from treadle.errors import SettingsError
from treadle.task_scheduler import CronTask, PeriodicTask

# Nothing here is sensibly longer than a day, or ten years; a slip of the unit is caught at start.
Seconds = Annotated[float, Gt(0), Le(86_400)]
Hours = Annotated[float, Gt(0), Le(87_600)]
Days = Annotated[float, Gt(0), Le(3_650)]
Port = Annotated[int, Ge(0), Le(65_535)]
Count = Annotated[int, Ge(1), Le(1_000_000)]

LONGEST_PERIOD: Final = 31_536_000.0


def task(
    name: str, handler: Callable[[], object], schedule: str, *, timezone: str = "UTC"
) -> PeriodicTask | CronTask:
    """The task that a schedule stands for: seconds between two runs, or a cron expression.

    Raises ``ValueError`` saying what is wrong with it.
    """
    try:
        seconds = float(schedule)
    except ValueError:
        return CronTask(name, handler, schedule, timezone=timezone)
    if not 0 < seconds <= LONGEST_PERIOD:
        raise ValueError(
            f"{schedule} seconds between two runs are not between 0 and {LONGEST_PERIOD:.0f}, a year"
        )
    return PeriodicTask(name, handler, interval_seconds=seconds)


def _schedule(value: str) -> str:
    task("chore", lambda: None, value)
    return value


Schedule = Annotated[str, AfterValidator(_schedule)]

_EVERY: Final = "seconds between two, or a cron expression."


class Section(BaseModel):
    """Settings with a common first word; a misspelt one is refused, not ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class S3Section(Section):
    """The object store."""

    endpoint_url: str = Field(
        "",
        pattern=r"^(https?://[^\s]+)?$",
        description="Address of the store, such as http://minio:9000; empty: AWS.",
    )
    bucket: str = Field("", description="The bucket that files are in; the worker needs one.")
    region: str = Field("us-east-1", min_length=1, description="Its region.")
    access_key: str = Field("", description="Access key; empty: what the machine's role or profile gives.")
    secret_key: SecretStr = Field(SecretStr(""), description="Its secret; never shown or logged.")
    timeout_seconds: Seconds = Field(
        10, description="Seconds without an answer after which a request is given up, and tried once more."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if bool(self.access_key) != bool(self.secret_key.get_secret_value()):
            raise ValueError("S3__ACCESS_KEY and S3__SECRET_KEY are set together, or neither")
        return self


class WorkerSection(Section):
    """What the worker does, how often, and how much of it at once."""

    poll_seconds: Seconds = Field(1, description="Seconds between two looks for events.")
    event_attempts: int = Field(10, ge=1, le=1_000, description="Attempts after which an event is parked.")
    event_retry_seconds: Seconds = Field(
        5, description="Seconds before the second attempt at an event; each further wait is twice as long."
    )
    event_seconds: Seconds = Field(30, description="Seconds that the handler of an event may take.")
    event_retention_days: Days = Field(7, description="Days after which events that are done are removed.")
    event_retention_schedule: Schedule = Field("3600", description=f"Such removals: {_EVERY}")
    deleted_files_schedule: Schedule = Field(
        "300", description=f"Removals of deleted files from the store: {_EVERY}"
    )
    abandoned_uploads_schedule: Schedule = Field(
        "15 * * * *", description=f"Looks for uploads to abort: {_EVERY}"
    )
    upload_hours: Hours = Field(24, description="Hours that an upload may take; then it is aborted.")
    closed_spaces_schedule: Schedule = Field(
        "0 1 * * *", description=f"Looks for closed spaces to delete: {_EVERY}"
    )
    space_grace_days: Days = Field(30, description="Days for which a closed space may be opened again.")
    plugin_health_schedule: Schedule = Field("60", description=f"Checks of the plugins' health: {_EVERY}")
    plugin_seconds: Seconds = Field(5, description="Seconds within which a plugin has to answer.")
    timezone: str = Field("UTC", description="Time zone of the cron expressions, such as Europe/Berlin.")
    chore_items: Count = Field(1_000, description="Items that one run of a chore takes at most.")
    chore_seconds: Seconds = Field(
        60, description="Seconds after which a run of a chore takes no further item."
    )
    shutdown_grace_seconds: Seconds = Field(
        8, description="Seconds that a chore and an event have to come to an end when the worker is stopped."
    )
    health_host: str = Field("127.0.0.1", min_length=1, description="Address the health is served on.")
    health_port: Port = Field(8082, description="Its port; 0: it is not served.")
    unhealthy_seconds: Seconds = Field(
        60, description="Seconds without the database after which the worker says that it is unhealthy."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        try:
            task("chore", lambda: None, "0 1 * * *", timezone=self.timezone)
        except ValueError:
            raise ValueError(
                f"WORKER__TIMEZONE: {self.timezone!r} is no time zone; one looks like Europe/Berlin"
            ) from None
        return self


class Settings(BaseSettings):
    """All of them. Build it with `load`, whose errors name the variable and never show a secret."""

    model_config = SettingsConfigDict(
        env_nested_delimiter="__", extra="ignore", frozen=True, hide_input_in_errors=True
    )

    database_url: SecretStr = Field(
        SecretStr(""), description="The database, as postgresql://user:password@host:5432/name."
    )
    s3: S3Section = S3Section()
    worker: WorkerSection = WorkerSection()

    @model_validator(mode="after")
    def _check(self) -> Self:
        try:
            conninfo_to_dict(self.database_url.get_secret_value())
        except psycopg.ProgrammingError:
            raise ValueError(
                "DATABASE_URL cannot be read; it looks like postgresql://user:password@host:5432/name"
            ) from None
        return self

    @property
    def conninfo(self) -> str:
        """Connection string, password included. Raises ``SettingsError`` when no database is named."""
        if url := self.database_url.get_secret_value():
            return url
        raise SettingsError("no database is named: set DATABASE_URL")

    @property
    def store(self) -> S3Section:
        """The object store. Raises ``SettingsError`` when no bucket is named."""
        if not self.s3.bucket:
            raise SettingsError(
                "no bucket is named: set S3__BUCKET, and S3__ENDPOINT_URL for a store that is not AWS"
            )
        return self.s3


def load() -> Settings:
    """The settings in this process' environment.

    Raises ``SettingsError``, one line that names each variable that makes no sense and says what would.
    """
    try:
        return Settings()
    except UnreadableSettings as error:
        # Such as WORKER=on, which would have to be the whole section as JSON.
        section = str(error.args[0]).split('"')[1].upper()
        raise SettingsError(
            f"{section} is no setting by itself; unset it, its settings are {section}__..."
        ) from None
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        raise SettingsError("; ".join(_sentence(fault) for fault in faults)) from None


def variable(*location: str | int) -> str:
    """The environment variable of a setting."""
    return "__".join(str(part) for part in location).upper()


def _sentence(fault: Any) -> str:
    name = variable(*fault["loc"])
    match fault["type"]:
        case "value_error" if len(fault["loc"]) < 2:
            return str(fault["ctx"]["error"])  # already names its variables
        case "extra_forbidden":
            return f"{name} is no setting; see docs/settings.md"
        case _:
            message = str(fault["msg"]).removeprefix("Value error, ")
            return f"{name}: {message[0].lower()}{message[1:]}"
