"""A folder of photos."""

from pathlib import Path

import pytest

from anichron.up.sample import make_sample


@pytest.fixture
def six_photos(tmp_path: Path) -> Path:
    """A folder with six photos, no two alike."""
    return make_sample(tmp_path / "six photos", count=6)
