import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anichron.library.path_text import from_text, to_text


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (b"2021/summer.jpg", "2021/summer.jpg"),
        ("café/日本.jpg".encode(), "café/日本.jpg"),
        (b"caf\xe9.jpg", r"caf\xe9.jpg"),
        (rb"back\slash.jpg", r"back\\slash.jpg"),
        (rb"like\xe9.jpg", r"like\\xe9.jpg"),
        (b"\\\xff", r"\\\xff"),
    ],
)
def test_a_path_is_readable_as_text(path: bytes, text: str) -> None:
    assert to_text(os.fsdecode(path)) == text


@given(st.binary() | st.text(alphabet="\\x0aé\udce9", max_size=12).map(os.fsencode))
def test_any_bytes_come_back_and_are_text_that_can_be_stored(path: bytes) -> None:
    text = to_text(os.fsdecode(path))
    text.encode("utf-8")
    assert os.fsencode(from_text(text)) == path
