"""Places in a list as opaque text."""

from __future__ import annotations

import base64
import struct
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from treadle.ports.inspect import Position

PATTERN: Final = r"^[A-Za-z0-9_-]{32}$"
"""Each text of this form is a place, if only one that no page ever named."""
_FORM: Final = struct.Struct(">q16s")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_EARLIEST: Final = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_LATEST: Final = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND


def write_position(position: Position) -> str:
    """*position* as text for a URL."""
    microseconds = (position.requested_at - _EPOCH) // _MICROSECOND
    return base64.urlsafe_b64encode(_FORM.pack(microseconds, position.id.bytes)).decode()


def read_position(text: str) -> Position:
    """The position that *text*, which has the form of one, stands for."""
    microseconds, id_ = _FORM.unpack(base64.urlsafe_b64decode(text))
    within = min(max(microseconds, _EARLIEST), _LATEST)
    return Position(_EPOCH + within * _MICROSECOND, UUID(bytes=id_))
