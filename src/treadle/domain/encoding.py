"""What PostgreSQL can hold: payloads and results whole or refused, texts cleaned and cut."""

from __future__ import annotations

import json
from typing import Final

from pydantic import JsonValue, ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from treadle.errors import ResultError

ERROR_LIMIT: Final = 10_000
"""Characters of an error that are kept."""
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

    File names of an ``OSError`` and inputs of a validation error stay in the worker's log.
    """
    name = type(error).__name__
    try:
        message = _message(error)
    except Exception:  # noqa: BLE001 - an exception's own str() may raise anything
        message = "(its message cannot be read)"
    return storable_text(f"{name}: {message}" if message else name, ERROR_LIMIT)


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
    """A handler's result as JSON.

    Raises ``ResultError`` when it is no JSON, holds what PostgreSQL cannot, or is over 1 MB.
    """
    try:
        result: JsonValue = to_jsonable_python(value, inf_nan_mode="constants")
        text = json_text(result)
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        raise ResultError(f"the result cannot be stored: {_reason(error)}") from error
    if (size := len(text.encode())) > RESULT_LIMIT:
        raise ResultError(
            f"the result is {size} bytes, more than {RESULT_LIMIT}; "
            "return a summary and put large results in a table of the kind's own"
        )
    return result


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
