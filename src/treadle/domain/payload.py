"""Payloads: the typed arguments of a kind, and their way into the database and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar, Final, Protocol, TypeVar, runtime_checkable
from uuid import UUID

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from treadle.domain.encoding import refuse_unstorable, validation_faults
from treadle.errors import PayloadError


@runtime_checkable
class WorkPayload(Protocol):
    """What the queue asks of a payload: a kind. ``Payload`` and plain dataclasses fit."""

    kind: ClassVar[StrEnum]


class Payload(BaseModel):
    """Base of a kind's payload: ``class Resize(Payload, kind=Kind.RESIZE)``.

    Unknown fields are refused: a worker that does not know a field would silently do less than asked.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    kind: ClassVar[StrEnum]

    def __init_subclass__(cls, *, kind: StrEnum | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if kind is not None:
            cls.kind = kind

    def dedup_key(self, scope_id: UUID | None) -> str | None:
        """At most one queued item per key; None, the default, never coalesces."""
        return None


KEY_LIMIT: Final = 500
"""Bytes of a dedup key, which is in three indexes."""

P = TypeVar("P", bound=WorkPayload)


class Codec:
    """Turns the payloads of one type into JSON text and back."""

    def __init__(self, payload_type: type[WorkPayload]) -> None:
        self._type = payload_type
        self._adapter: TypeAdapter[WorkPayload] = TypeAdapter(payload_type)

    def encode(self, payload: WorkPayload) -> str:
        """JSON text of *payload*. Raises ``PayloadError`` for what would not come back as it went in."""
        try:
            _refuse_naive(payload)
            text = self._adapter.dump_json(payload).decode()
            refuse_unstorable(text)
            if self._adapter.validate_json(text) != payload:
                raise ValueError("it would not come back from JSON as it is; use types that JSON can carry")
        except ValidationError as error:
            raise PayloadError(f"payload of kind {payload.kind}: {validation_faults(error)}") from error
        except (PydanticSerializationError, ValueError, RecursionError) as error:
            raise PayloadError(f"payload of kind {payload.kind}: {error}") from error
        return text

    def decode(self, text: str) -> WorkPayload:
        """The payload in JSON *text*. Raises ``PayloadError`` without repeating its values."""
        try:
            payload = self._adapter.validate_json(text)
            _refuse_naive(payload)
        except ValidationError as error:
            raise PayloadError(f"the payload no longer decodes: {validation_faults(error)}") from error
        except (ValueError, RecursionError) as error:
            raise PayloadError(f"the payload no longer decodes: {error}") from error
        return payload


def dedup_key(payload: WorkPayload, scope_id: UUID | None) -> str | None:
    """The payload's dedup key in this scope, None when its kind does not coalesce."""
    method = getattr(payload, "dedup_key", None)
    key = method(scope_id) if callable(method) else None
    if key is None:
        return None
    if not isinstance(key, str) or not key or "\x00" in key:
        raise PayloadError(f"payload of kind {payload.kind}: the dedup key must be text, is {key!r}")
    if (size := len(key.encode("utf-8", "replace"))) > KEY_LIMIT:
        raise PayloadError(
            f"payload of kind {payload.kind}: the dedup key has {size} bytes, more than {KEY_LIMIT}; use ids or a hash"
        )
    return key


def _refuse_naive(value: object) -> None:
    match value:
        case datetime(tzinfo=None):
            raise ValueError("a datetime without time zone; give it one, such as UTC")
        case BaseModel():
            _refuse_naive(list(value.__dict__.values()))
        case Mapping():
            _refuse_naive(list(value.values()))
        case str() | bytes():
            pass
        case _ if dataclasses.is_dataclass(value):
            _refuse_naive([getattr(value, field.name) for field in dataclasses.fields(value)])
        case list() | tuple() | set() | frozenset():
            for part in value:
                _refuse_naive(part)
