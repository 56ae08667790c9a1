"""Why one file could not be taken in; it fails itself and nothing else."""

from enum import StrEnum


class Reason(StrEnum):
    """A failure's cause as counted in a crawl's summary."""

    VANISHED = "vanished"
    CHANGED = "changed"
    """It was written to while it was read; the next crawl gets it."""
    UNREADABLE = "unreadable"
    UNDECODABLE = "undecodable"
    """Its content is no picture of a supported format, or a damaged one."""
    TOO_LARGE = "too large"
    """It declares more pixels than are allowed."""
    OUT_OF_MEMORY = "out of memory"
    TIMED_OUT = "timed out"
    CRASHED = "crashed"
    """The decoder died of it."""


class FileFailed(Exception):
    """One file failed. The message names no path, so that whoever logs it decides about that."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail
