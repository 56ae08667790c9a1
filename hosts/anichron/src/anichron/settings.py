"""Every setting of Anichron, from the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final, Self

import psycopg
from annotated_types import Ge, Gt, Le
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict
from pydantic_settings import SettingsError as UnreadableSettings

from treadle.domain.stall import BEATS_PER_LEASE
from treadle.errors import SettingsError

KEY_CHARACTERS: Final = 32
"""HS256 wants a key as long as its hash (RFC 7518, section 3.2)."""


# Nothing here is sensibly longer than a day, or ten years; a slip of the unit is caught at start.
Seconds = Annotated[float, Gt(0), Le(86_400)]
Minutes = Annotated[float, Gt(0), Le(1_440)]
Hours = Annotated[float, Gt(0), Le(87_600)]
Days = Annotated[float, Gt(0), Le(3_650)]
Port = Annotated[int, Ge(1), Le(65_535)]


class Section(BaseModel):
    """Settings with a common first word; a misspelt one is refused, not ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class PostgresSection(Section):
    """The parts of the database's address, where `DATABASE_URL` is not set."""

    host: str = Field("", description="Host of the PostgreSQL server.")
    port: Port = Field(5432, description="Its port.")
    dbname: str = Field("anichron", description="Name of the database.")
    user: str = Field("anichron", description="Role to sign in as.")
    password: SecretStr = Field(SecretStr(""), description="Its password; never shown or logged.")


class WorkerSection(Section):
    """What a Worker serves, and the times and limits of its queue."""

    user: str = Field(
        "",
        description="Name or email of the user whose folders are served; empty: everybody's (all-user worker).",
    )
    root_path: Path = Field(
        Path("/data/originals"),
        description="Folder of originals of a per-user worker; it gets a storage config at start.",
    )
    proxy_path: Path = Field(Path("/data/proxies"), description="Folder of thumbnails and previews.")
    crawl_interval_hours: Hours = Field(4, description="Hours after which a folder is crawled again.")
    max_concurrent_files: int = Field(
        4, ge=1, le=256, description="Files of a crawl that are worked on at once."
    )
    token_cleanup_interval_hours: Hours = Field(
        24, description="Hours between two removals of expired tokens."
    )
    heartbeat_seconds: Seconds = Field(
        2,
        description=f"Seconds between two heartbeats of a running item; at most 1/{BEATS_PER_LEASE} of the lease.",
    )
    lease_seconds: Seconds = Field(
        60, description="Seconds without a heartbeat after which an item is taken back."
    )
    poll_seconds: Seconds = Field(
        2, description="Seconds between two looks for work, and for work that is due."
    )
    stall_limit: int = Field(3, ge=1, le=1_000, description="Lost leases after which an item fails.")
    concurrency: int = Field(1, ge=1, le=100, description="Items that a Worker runs at once.")
    shutdown_grace_seconds: Seconds = Field(
        8, description="Seconds that a running item has to stop before it is handed back."
    )
    retention_days: Days = Field(30, description="Days after which finished work items are removed.")
    retention_interval_hours: Hours = Field(24, description="Hours between two such removals.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.heartbeat_seconds * BEATS_PER_LEASE > self.lease_seconds:
            raise ValueError(
                f"WORKER__HEARTBEAT_SECONDS ({self.heartbeat_seconds:g}) must fit WORKER__LEASE_SECONDS "
                f"({self.lease_seconds:g}) {BEATS_PER_LEASE} times; set it to at most "
                f"{self.lease_seconds / BEATS_PER_LEASE:g}, or the lease to at least "
                f"{self.heartbeat_seconds * BEATS_PER_LEASE:g}"
            )
        for name, path in (("ROOT", self.root_path), ("PROXY", self.proxy_path)):
            if not path.is_absolute():
                raise ValueError(f"WORKER__{name}_PATH must be an absolute path, such as /data/originals")
        return self


class ApiSection(Section):
    """Where the API listens, and how fast it follows the queue."""

    host: str = Field("127.0.0.1", min_length=1, description="Address to listen on; 0.0.0.0 for all.")
    port: Port = Field(8080, description="Port to listen on.")
    live_interval_seconds: Seconds = Field(
        2, description="Seconds between two looks for changes to show live."
    )
    access_token_minutes: Minutes = Field(
        15, description="Minutes that an access token is good for, and with it a live view's connection."
    )
    refresh_token_days: Days = Field(
        30, description="Days without a visit after which one has to sign in again."
    )
    secret_key: SecretStr = Field(
        SecretStr(""),
        description="Key that access tokens are signed with, 32 characters or more; empty: the database keeps one.",
    )

    @property
    def address(self) -> str:
        """Where a browser on this machine finds it."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 - what all stands for
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    @model_validator(mode="after")
    def _check(self) -> Self:
        if 0 < len(self.secret_key.get_secret_value()) < KEY_CHARACTERS:
            raise ValueError(
                f"API__SECRET_KEY must have {KEY_CHARACTERS} characters or more, such as `openssl rand -hex 32` "
                "makes, or be empty"
            )
        return self


class Settings(BaseSettings):
    """All of them. Build it with `load`, whose errors name the variable and never show a secret."""

    model_config = SettingsConfigDict(
        env_nested_delimiter="__", extra="ignore", frozen=True, hide_input_in_errors=True
    )

    database_url: SecretStr = Field(
        SecretStr(""),
        description="The database, as postgresql://user:password@host:5432/name; only `anichron up` shows it.",
    )
    postgres_connection: PostgresSection = PostgresSection()
    worker: WorkerSection = WorkerSection()
    api: ApiSection = ApiSection()

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
    def has_database(self) -> bool:
        """Whether a database is named at all."""
        return bool(self.database_url.get_secret_value() or self.postgres_connection.host)

    @property
    def conninfo(self) -> str:
        """Connection string, password included. Raises ``SettingsError`` when no database is named."""
        if url := self.database_url.get_secret_value():
            return url
        parts = self.postgres_connection
        if not parts.host:
            raise SettingsError(
                "no database is named: set DATABASE_URL, or POSTGRES_CONNECTION__HOST and its like"
            )
        return make_conninfo(
            host=parts.host,
            port=parts.port,
            dbname=parts.dbname,
            user=parts.user,
            password=parts.password.get_secret_value() or None,
        )


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
