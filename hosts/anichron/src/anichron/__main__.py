"""`python -m anichron`, the same as the `anichron` command."""

from anichron.cli import main

main()
