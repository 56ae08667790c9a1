"""What PostgreSQL can hold: payloads and results whole or refused, texts cleaned and cut."""

from __future__ import annotations

import json
import traceback
from typing import Final

from pydantic import JsonValue, ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from treadle.errors import PayloadError, ResultError

ERROR_LIMIT: Final = 10_000
"""Characters of an error that are kept."""
TRACEBACK_LIMIT: Final = 100_000
"""Characters of a traceback that are logged."""
NOTE_LIMIT: Final = 500
"""Characters of a progress note that are kept."""
RESULT_LIMIT: Final = 1_000_000
"""Bytes of a result summary's JSON; a larger one is refused, never cut."""

_CUT = "…"


def storable_text(text: str, limit: int) -> str:
    """*text* as PostgreSQL can hold it: no NUL, no lone surrogates, at most *limit* characters."""
    if len(text) > limit:
        text = text[: limit - len(_CUT)] + _CUT
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def describe_error(error: BaseException) -> str:
    """One line for the admin: the error's type and message, without the values it was given.

    File names of an ``OSError`` and inputs of a validation error stay in the worker's log. The error's
    own code runs here, which may take its time.
    """
    name = type(error).__name__
    try:
        message = _message(error)
        if isinstance(error, PayloadError):  # the library's, and clear without its type
            return storable_text(message, ERROR_LIMIT)
        return storable_text(f"{name}: {message}" if message else name, ERROR_LIMIT)
    except BaseException:  # noqa: BLE001 - an exception's own str() may raise anything
        return storable_text(f"{name}: (its message cannot be read)", ERROR_LIMIT)


def format_traceback(error: BaseException) -> str:
    """The traceback for the log. The error's own code runs here, too."""
    try:
        text = "".join(traceback.format_exception(error))
    except BaseException:  # noqa: BLE001 - the same
        return "(its traceback cannot be formatted)"
    return storable_text(text.rstrip(), TRACEBACK_LIMIT)


def _message(error: BaseException) -> str:
    match error:
        case ValidationError():
            return validation_faults(error)
        case OSError(strerror=str(reason)):
            return reason
        case _:
            return str(error)


def validation_faults(error: ValidationError) -> str:
    """The faults of a validation error, without the values that were refused."""
    faults = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, fault['loc'])) or 'value'}: {fault['msg']}" for fault in faults)


def encode_result(value: object) -> JsonValue:
    """A handler's result as JSON that shares nothing with *value*.

    Raises ``ResultError`` when it is no JSON, holds what PostgreSQL cannot, or is over 1 MB.
    """
    try:
        text = _limited_text(to_jsonable_python(value, inf_nan_mode="constants"))
        refuse_unstorable(text)
        result: JsonValue = json.loads(text)
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        raise ResultError(f"the result cannot be stored: {_reason(error)}") from error
    return result


def _limited_text(value: JsonValue) -> str:
    # Piece by piece: json.dumps would keep the interpreter's lock from the heartbeats until all of it is done.
    parts: list[str] = []
    size = 0
    for part in json.JSONEncoder(ensure_ascii=False, allow_nan=False).iterencode(value):
        parts.append(part)
        size += len(part.encode("utf-8", "surrogatepass"))
        if size > RESULT_LIMIT:
            raise ResultError(
                f"the result is more than {RESULT_LIMIT} bytes; "
                "return a summary and put large results in a table of the kind's own"
            )
    return "".join(parts)


def json_text(value: JsonValue) -> str:
    """*value* as JSON text that ``jsonb`` takes. Raises ``ValueError`` for NaN, NUL and lone surrogates."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    refuse_unstorable(text)
    return text


def refuse_unstorable(text: str) -> None:
    """Raise ``ValueError`` when JSON *text* holds a NUL character or a lone surrogate."""
    # json.dumps escapes NUL; an escaped backslash before "u0000" is ordinary text.
    if "\\u0000" in text.replace("\\\\", ""):
        raise ValueError("text with a NUL character")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError("text with a lone surrogate") from error


def _reason(error: BaseException) -> str:
    return storable_text(str(error), 200)
