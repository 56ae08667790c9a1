"""The `loryth` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line of this process and exit with its code."""
    from loryth.cli.app import app
    from treadle.cli.exits import run

    sys.exit(run(app, "loryth"))
