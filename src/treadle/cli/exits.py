"""How a command ends: its exit code, and one line on standard error that says what to do."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from enum import IntEnum

import psycopg
import typer

from treadle.errors import SettingsError, StoreUnavailable, TreadleError


class ExitCode(IntEnum):
    """What a command answers to its caller."""

    DONE = 0
    REFUSED = 1
    USAGE = 2
    UNREACHABLE = 3
    INTERRUPTED = 130

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    ExitCode.DONE: "done",
    ExitCode.REFUSED: "refused, not found, or in conflict with what is there; nothing was changed",
    ExitCode.USAGE: "the command line or a setting makes no sense",
    ExitCode.UNREACHABLE: "the database cannot be reached",
    ExitCode.INTERRUPTED: "interrupted by Ctrl-C",
}


class Refused(TreadleError):
    """A command was understood and not carried out; the message says why."""


def run(app: typer.Typer, name: str, arguments: Sequence[str] | None = None) -> int:
    """Run *app* under *name* and turn whatever comes of it into an exit code and at most one line.

    What nobody foresaw is raised as it is: a traceback is then the most useful thing to report.
    """
    try:
        answer = app(args=arguments, prog_name=name, standalone_mode=False)
    except BrokenPipeError:
        # The reader of a pipe has gone; without this the interpreter complains when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.REFUSED
    except (typer.Abort, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    except typer.TyperException as error:
        line, code = f"{error.format_message()} (see {name} --help)", error.exit_code
    except SettingsError as error:
        line, code = str(error), ExitCode.USAGE
    except StoreUnavailable as error:
        line, code = str(error), ExitCode.UNREACHABLE
    except psycopg.OperationalError as error:
        line, code = f"the database cannot be reached: {error}", ExitCode.UNREACHABLE
    except TreadleError as error:
        line, code = str(error), ExitCode.REFUSED
    else:
        return answer if isinstance(answer, int) else ExitCode.DONE
    typer.echo(f"{name}: {' '.join(line.split())}", err=True)
    return code
