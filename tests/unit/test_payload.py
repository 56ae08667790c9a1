import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from typing import Any, ClassVar
from uuid import UUID, uuid4

import pytest
from pydantic import Field

from treadle import Payload
from treadle.domain.payload import Codec, WorkPayload, dedup_key
from treadle.errors import PayloadError


class Kind(StrEnum):
    RESIZE = "resize"
    MOVE = "move"


class Resize(Payload, kind=Kind.RESIZE):
    photo_id: UUID
    since: datetime | None = None
    widths: tuple[int, ...] = ()
    note: str = ""
    moments: Mapping[str, list[datetime]] = Field(default_factory=dict)


@dataclass(frozen=True)
class Move:
    kind: ClassVar[StrEnum] = Kind.MOVE
    source: str
    at: datetime | None = None


def back(payload: WorkPayload) -> WorkPayload:
    codec = Codec(type(payload))
    return codec.decode(codec.encode(payload))


@pytest.mark.parametrize(
    "payload",
    [
        Resize(photo_id=uuid4(), since=datetime(2026, 3, 29, 2, 30, tzinfo=UTC), widths=(300, 1920)),
        Resize(photo_id=uuid4(), since=datetime(2026, 3, 29, tzinfo=timezone(timedelta(hours=5.5)))),
        Resize(photo_id=uuid4(), note="grüße \\u0000 😀"),
        Move(source="a", at=datetime(2026, 1, 1, microsecond=1, tzinfo=UTC)),
    ],
)
def test_a_payload_comes_back_equal_and_typed(payload: WorkPayload) -> None:
    assert back(payload) == payload
    assert type(back(payload)) is type(payload)


@pytest.mark.parametrize(
    "payload",
    [
        Resize(photo_id=uuid4(), since=datetime(2026, 1, 1)),  # noqa: DTZ001 - the point
        Resize(photo_id=uuid4(), moments={"x": [datetime(2026, 1, 1)]}),  # noqa: DTZ001 - the point
        Move(source="a", at=datetime(2026, 1, 1)),  # noqa: DTZ001 - the point
    ],
)
def test_a_naive_datetime_is_refused_wherever_it_is(payload: WorkPayload) -> None:
    with pytest.raises(PayloadError, match=r"^payload of kind (resize|move): .*without time zone"):
        Codec(type(payload)).encode(payload)


@pytest.mark.parametrize("text", ["\x00", "a\ud800"])
def test_text_that_postgresql_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(PayloadError):
        Codec(Move).encode(Move(source=text))


def test_a_payload_that_no_longer_decodes_is_told_without_its_values() -> None:
    with pytest.raises(PayloadError, match=r"^the payload no longer decodes: photo_id") as caught:
        Codec(Resize).decode('{"photo_id": "secret"}')
    assert "secret" not in str(caught.value)


def test_an_unknown_field_is_refused_instead_of_ignored() -> None:
    with pytest.raises(PayloadError, match="rotate"):
        Codec(Resize).decode(json.dumps({"photo_id": str(uuid4()), "rotate": 90}))


def test_a_kind_coalesces_only_when_it_gives_a_key() -> None:
    class Keyed(Payload, kind=Kind.RESIZE):
        def dedup_key(self, scope_id: UUID | None) -> str | None:
            return f"keyed:{scope_id}"

    assert dedup_key(Resize(photo_id=uuid4()), None) is None
    assert dedup_key(Move(source="a"), None) is None
    assert dedup_key(Keyed(), UUID(int=1)) == f"keyed:{UUID(int=1)}"


@pytest.mark.parametrize("key", ["", "a\x00", 7])
def test_a_key_that_is_no_text_is_refused(key: object) -> None:
    class Keyed(Payload, kind=Kind.RESIZE):
        def dedup_key(self, scope_id: UUID | None) -> str | None:
            return key  # type: ignore[return-value]  # the point

    with pytest.raises(PayloadError, match="dedup key must be text"):
        dedup_key(Keyed(), None)


def test_a_key_that_is_too_long_for_an_index_is_refused() -> None:
    class Keyed(Payload, kind=Kind.RESIZE):
        length: int

        def dedup_key(self, scope_id: UUID | None) -> str | None:
            return "é" * self.length

    assert dedup_key(Keyed(length=250), None) == "é" * 250
    with pytest.raises(PayloadError, match="502 bytes, more than 500"):
        dedup_key(Keyed(length=251), None)


def test_a_payload_nested_too_deep_is_refused_at_both_ends() -> None:
    class Deep(Payload, kind=Kind.RESIZE):
        value: Any

    nested: Any = []
    for _ in range(5_000):
        nested = [nested]
    with pytest.raises(PayloadError):
        Codec(Deep).encode(Deep(value=nested))
    with pytest.raises(PayloadError, match="no longer decodes"):
        Codec(Deep).decode('{"value": ' + "[" * 5_000 + "]" * 5_000 + "}")
