"""Refresh tokens that have expired are removed."""
