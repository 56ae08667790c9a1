"""Every Python block of the documents runs, block after block as a reader would type them."""

import ast
import asyncio
import re
from inspect import iscoroutine
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def documents() -> list[Path]:
    every = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
    return [document for document in every if BLOCK.search(document.read_text("utf-8"))]


@pytest.mark.parametrize("document", documents(), ids=lambda path: path.name)
def test_the_blocks_of_a_document_run(document: Path, dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", dsn)
    text = document.read_text("utf-8")
    names: dict[str, object] = {"__name__": "__document__"}

    with asyncio.Runner() as runner:
        for block in BLOCK.finditer(text):
            # Blank lines in front give tracebacks the document's own line numbers.
            source = "\n" * text[: block.start(1)].count("\n") + block.group(1)
            code = compile(source, document, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            if iscoroutine(result := eval(code, names)):
                runner.run(result)


def test_there_are_documents_with_blocks() -> None:
    assert ROOT / "README.md" in set(documents())
