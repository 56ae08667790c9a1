"""The statements of the chores, one per file."""
