"""How the worker is doing, for people and for whatever restarts it."""
