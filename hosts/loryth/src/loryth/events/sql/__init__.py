"""The statements about events, one per file."""
