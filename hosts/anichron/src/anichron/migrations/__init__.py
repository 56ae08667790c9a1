"""Anichron's own tables, as numbered SQL files; the queue's are applied before them."""
