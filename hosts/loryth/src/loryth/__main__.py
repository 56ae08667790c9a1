"""`python -m loryth`, the same as the `loryth` command."""

from loryth.cli import main

main()
