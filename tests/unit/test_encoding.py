import json
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from treadle.domain.encoding import describe_error, encode_result, format_traceback, json_text, storable_text
from treadle.errors import PayloadError, ResultError


@given(st.text(st.characters()), st.integers(1, 50))
def test_any_text_becomes_one_that_postgresql_can_hold_within_its_limit(text: str, limit: int) -> None:
    stored = storable_text(text, limit)
    assert "\x00" not in stored
    assert len(stored) <= limit
    assert stored.encode().decode() == stored


@given(st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=20))
def test_ordinary_text_is_kept_as_it_is(text: str) -> None:
    assert storable_text(text, 20) == text


def test_an_error_is_one_line_of_type_and_message() -> None:
    assert describe_error(KeyError("x")) == "KeyError: 'x'"
    assert describe_error(ValueError()) == "ValueError"


def test_an_os_error_does_not_name_the_file() -> None:
    error = FileNotFoundError(2, "No such file or directory", "/photos/private.jpg")
    assert describe_error(error) == "FileNotFoundError: No such file or directory"


def test_a_validation_error_does_not_repeat_the_value() -> None:
    class Model(BaseModel):
        n: int

    with pytest.raises(ValueError, match="validation") as caught:
        Model.model_validate({"n": "secret"})
    assert "secret" not in describe_error(caught.value)
    assert "n: " in describe_error(caught.value)


def test_an_error_whose_message_cannot_be_read_is_still_described() -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert describe_error(Broken()) == "Broken: (its message cannot be read)"


@pytest.mark.parametrize("other", [SystemExit, KeyboardInterrupt, RecursionError])
def test_an_error_whose_message_ends_the_program_is_described_all_the_same(
    other: type[BaseException],
) -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise other

    assert describe_error(Broken()) == "Broken: (its message cannot be read)"
    assert "Broken" in format_traceback(Broken())


def test_a_payload_error_is_described_by_its_message_alone() -> None:
    assert (
        describe_error(PayloadError("the payload no longer decodes: x")) == "the payload no longer decodes: x"
    )


def test_a_traceback_is_text_that_begins_with_the_frames_and_is_cut() -> None:
    try:
        raise ValueError("x" * 50_000_000)
    except ValueError as error:
        text = format_traceback(error)
    assert text.startswith("Traceback (most recent call last):\n")
    assert "test_a_traceback_is_text" in text
    assert len(text) == 100_000


def test_a_huge_message_is_cut() -> None:
    assert len(describe_error(ValueError("x" * 50_000_000))) == 10_000


@dataclass
class Summary:
    found: int
    at: datetime


def test_models_dataclasses_and_json_are_results() -> None:
    at = datetime(2026, 1, 2, tzinfo=UTC)
    assert encode_result(Summary(3, at)) == {"found": 3, "at": "2026-01-02T00:00:00Z"}
    assert encode_result({"id": UUID(int=1), "d": Decimal("1.5")}) == {"id": str(UUID(int=1)), "d": "1.5"}
    assert encode_result(None) is None


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), "\x00", {"k\x00": 1}, ["\udfff"], object(), {1, "\x00"}]
)
def test_what_jsonb_cannot_hold_is_refused_whole(value: object) -> None:
    with pytest.raises(ResultError, match="the result cannot be stored"):
        encode_result(value)


def test_an_endless_structure_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(ResultError):
        encode_result(endless)


def test_a_result_over_one_megabyte_is_refused_and_never_cut() -> None:
    with pytest.raises(ResultError, match="more than 1000000 bytes"):
        encode_result("x" * 999_999)
    assert encode_result("x" * 999_998) == "x" * 999_998
    with pytest.raises(ResultError):
        encode_result("ä" * 500_000)


def test_a_result_shares_nothing_with_what_the_handler_gave() -> None:
    class Name(str):
        __slots__ = ()

    given = {"names": [Name("x")]}
    encoded = encode_result(given)
    assert encoded == given
    assert isinstance(encoded, dict)
    assert encoded["names"] is not given["names"]
    assert type(encoded["names"][0]) is str  # type: ignore[index]  # it is a list, as seen above


def test_an_escaped_backslash_before_u0000_is_ordinary_text() -> None:
    assert json.loads(json_text("\\u0000")) == "\\u0000"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda c: st.lists(c) | st.dictionaries(st.text(), c),
    )
)
def test_json_comes_back_as_it_went_in_or_is_refused_for_a_reason(value: object) -> None:
    try:
        encoded = encode_result(value)
    except ResultError:
        assert "\\u0000" in json.dumps(value) or "\\ud" in json.dumps(value)
    else:
        assert encoded == value
