"""Work items and their rules: pure, with no I/O and no driver."""
