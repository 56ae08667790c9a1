"""The `anichron` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line of this process and exit with its code."""
    from anichron.cli.app import app
    from treadle.cli.exits import run

    sys.exit(run(app, "anichron"))
