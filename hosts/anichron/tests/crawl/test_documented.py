from pathlib import Path

from anichron.crawl.summary import CrawlSummary
from anichron.crawl.walk import PHOTO_SUFFIXES, VIDEO_SUFFIXES
from anichron.media.errors import Reason

DOCUMENT = (Path(__file__).parents[4] / "docs/crawl.md").read_text()


def test_every_count_cause_and_suffix_is_documented() -> None:
    words = {*CrawlSummary.model_fields, *Reason, *PHOTO_SUFFIXES, *VIDEO_SUFFIXES}
    assert {word for word in words if f"`{word}`" not in DOCUMENT} == set()
