# ruff: noqa: INP001 - a script beside the pages it makes
"""Write docs/settings.md and docs/commands.md from the code: `python docs/reference.py`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import typer
from pydantic import BaseModel, SecretStr
from typer.testing import CliRunner

from anichron.cli.app import app as anichron
from anichron.settings import Settings as AnichronSettings
from anichron.settings import variable
from loryth.cli.app import app as loryth
from loryth.settings import Settings as LorythSettings
from treadle.cli.app import app as treadle
from treadle.cli.exits import ExitCode

COMMAND_LINES = {"anichron": anichron, "loryth": loryth, "treadle": treadle}
HOSTS = {"Anichron": AnichronSettings, "Loryth": LorythSettings}

SETTINGS = """\
# Settings

<!-- Made by docs/reference.py; do not edit. -->

The hosts read their settings from the environment; names are not case sensitive. Times take fractions, such as `0.5`.
A value that makes no sense, and a misspelt name, is refused at start with one line that names the variable (exit
code 2). For Anichron, `DATABASE_URL` wins over `POSTGRES_CONNECTION__...` when it is set. A schedule of
[Loryth](loryth.md)'s chores is a number, the seconds between two runs, or a cron expression.
"""

COMMANDS = """\
# Commands

<!-- Made by docs/reference.py; do not edit. -->

`treadle` looks after the queue of any application; it finds the database by `DATABASE_URL` or `--dsn`. `anichron` runs
the photo library, and `loryth` the platform worker; their [settings](settings.md) come from the environment. Errors
are one line on standard error that says what to do.

## Exit codes

| code | meaning |
|---|---|
"""


def settings_page() -> str:
    """Every environment variable, its default and its meaning."""
    return SETTINGS + "".join(_section(host, model) for host, model in HOSTS.items())


def commands_page() -> str:
    """Exit codes, and what every command says of itself."""
    codes = "".join(f"| {code.value} | {code.meaning} |\n" for code in ExitCode)
    parts = [_help(app, name, words) for name, app in COMMAND_LINES.items() for words in _commands(app)]
    return "\n".join([COMMANDS + codes, *parts])


def _section(host: str, model: type[BaseModel]) -> str:
    rows = "".join(f"| `{name}` | {default} | {text} |\n" for name, default, text in _settings(model))
    return f"\n## {host}\n\n| variable | default | meaning |\n|---|---|---|\n{rows}"


def _settings(model: type[BaseModel], *place: str) -> Iterator[tuple[str, str, str]]:
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _settings(field.annotation, *place, name)
        else:
            yield variable(*place, name), _default(field.default), field.description or ""


def _default(value: object) -> str:
    text = value.get_secret_value() if isinstance(value, SecretStr) else str(value)
    return f"`{text}`" if text else ""


def _help(app: typer.Typer, name: str, words: list[str]) -> str:
    shown = CliRunner().invoke(app, [*words, "--help"], prog_name=name, env={"COLUMNS": "100"})
    return f"## `{' '.join([name, *words])}`\n\n```text\n{shown.output.strip()}\n```\n"


def _commands(app: typer.Typer) -> Iterator[list[str]]:
    for command in app.registered_commands:
        yield [command.name or getattr(command.callback, "__name__", "").replace("_", "-")]
    for group in app.registered_groups:
        if group.typer_instance is not None:
            yield from ([str(group.name), *words] for words in _commands(group.typer_instance))


def main(folder: Path) -> None:
    """Write both pages into *folder*."""
    (folder / "settings.md").write_text(settings_page(), "utf-8")
    (folder / "commands.md").write_text(commands_page(), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
