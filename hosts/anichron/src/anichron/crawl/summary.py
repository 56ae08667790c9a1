"""What a crawl has done, as counts: it names no file, so that an admin may see it."""

from pydantic import BaseModel, ConfigDict, Field

from anichron.media.errors import Reason


class CrawlSummary(BaseModel):
    """The counts of one crawl, so far or in the end. Every photo found ends as exactly one of `imported`,
    `unchanged`, `duplicates` or `failed`.
    """

    model_config = ConfigDict(frozen=True)

    found: int = 0
    """Photos, a Live Photo being one."""
    imported: int = 0
    """New in the library."""
    unchanged: int = 0
    """Left unread, because path, size and modification time are those of the last crawl."""
    duplicates: int = 0
    """Read, but their content was already in the library."""
    failed: int = 0
    failures: dict[Reason, int] = Field(default_factory=dict)
    """`failed` by cause."""
    live_photos: int = 0
    """Of the photos found, those with a moving part."""
    unsupported: int = 0
    """Files that are no photos by their suffix."""
    unreadable_folders: int = 0
    complete: bool = False
    """Whether the walk has ended, so that `found` is all there is."""

    @property
    def done(self) -> int:
        """Photos settled: what went well and what failed."""
        return self.imported + self.unchanged + self.duplicates + self.failed

    @property
    def total(self) -> int | None:
        """Photos in all; None until the walk has ended."""
        return self.found if self.complete else None

    @property
    def note(self) -> str:
        return f"found {self.found}, failed {self.failed}"
