"""Places in a list as opaque text."""

from __future__ import annotations

import base64
import binascii
import struct
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from treadle.ports.inspect import Position

_FORM: Final = struct.Struct(">q16s")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def write_position(position: Position) -> str:
    """*position* as text for a URL."""
    microseconds = (position.requested_at - _EPOCH) // timedelta(microseconds=1)
    packed = _FORM.pack(microseconds, position.id.bytes)
    return base64.urlsafe_b64encode(packed).decode()


def read_position(text: str) -> Position:
    """The position that *text* stands for. Raises ``ValueError`` when it is none."""
    try:
        microseconds, id_ = _FORM.unpack(base64.b64decode(text, altchars=b"-_", validate=True))
        return Position(_EPOCH + timedelta(microseconds=microseconds), UUID(bytes=id_))
    except (binascii.Error, struct.error, OverflowError, ValueError) as error:
        raise ValueError("not a place in a list: give back what `next` said") from error
