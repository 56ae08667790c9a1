"""The reference pages say what the code says now."""

import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages as the code would have them."""
    folder = tmp_path_factory.mktemp("docs")
    subprocess.run([sys.executable, DOCS / "reference.py", folder], check=True, timeout=60)
    return folder


@pytest.mark.parametrize("page", ["settings.md", "commands.md"])
def test_a_reference_page_is_current(made: Path, page: str) -> None:
    assert (DOCS / page).read_text("utf-8") == (made / page).read_text("utf-8"), (
        "run `python docs/reference.py`"
    )


@pytest.mark.parametrize(
    "words",
    [
        *("anichron up", "anichron migrate", "anichron api", "anichron worker"),
        *(
            "treadle migrate",
            "treadle grants",
            "treadle items list",
            "treadle items show",
            "treadle items cancel",
        ),
        "treadle items watch",
    ],
)
def test_every_command_of_the_design_has_its_section(words: str) -> None:
    assert f"\n## `{words}`\n" in (DOCS / "commands.md").read_text("utf-8")
