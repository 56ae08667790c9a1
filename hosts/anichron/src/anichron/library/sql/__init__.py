"""The library's SQL, one file per statement."""
