"""What a run ended in, and what that means for its item."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar, assert_never

from pydantic import JsonValue

from treadle.domain.encoding import ERROR_LIMIT, describe_error, encode_result, storable_text
from treadle.errors import PayloadError, ResultError

T = TypeVar("T")


class StopReason(Enum):
    """Why a handler is told to stop. A later, stronger reason replaces a weaker one."""

    SHUTDOWN = 1
    """The worker goes down; the item goes back to the queue."""
    CANCEL = 2
    """An admin asked; the item ends cancelled."""
    FENCED = 3
    """The lease is lost; whatever the handler still does must not matter."""


@dataclass(frozen=True, slots=True)
class Partial(Generic[T]):
    """What a handler that was told to stop hands back of its work so far."""

    value: T


# How the handler's code ended.


@dataclass(frozen=True, slots=True)
class Returned:
    """The handler ran to its end."""

    value: object


@dataclass(frozen=True, slots=True)
class HandedBack:
    """The handler stopped early; `value` is its partial result, None without one."""

    value: object = None


@dataclass(frozen=True, slots=True)
class Raised:
    """The handler raised."""

    error: BaseException


Ending = Returned | HandedBack | Raised


# What is to be written for it.


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The item ends succeeded."""

    result: JsonValue = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The item ends failed; it keeps its last progress and no result."""

    error: str


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The item ends cancelled; a result is marked partial."""

    partial: JsonValue = None


Outcome = Succeeded | Failed | Cancelled


@dataclass(frozen=True, slots=True)
class GiveBack:
    """The item returns to the queue; no stall."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """The attempt is no longer ours: write nothing."""


Decision = Outcome | GiveBack | Nothing


def decide(ending: Ending, reason: StopReason | None) -> Decision:
    """What becomes of an item whose handler ended so, after it had been told to stop for *reason*.

    A delivered cancel wins over any ending. A handler that ran to its end during a shutdown has
    succeeded; one that stopped for it, or raised while stopping, is given back.
    """
    match reason:
        case StopReason.FENCED:
            return Nothing()
        case StopReason.CANCEL:
            return _cancelled(ending)
        case StopReason.SHUTDOWN:
            return _succeeded(ending.value) if isinstance(ending, Returned) else GiveBack()
        case None:
            return _undisturbed(ending)
        case _:
            assert_never(reason)


def _undisturbed(ending: Ending) -> Outcome:
    match ending:
        case Returned(value):
            return _succeeded(value)
        case Raised(PayloadError() as error):
            return Failed(storable_text(str(error), ERROR_LIMIT))
        case Raised(error):
            return Failed(describe_error(error))
        case HandedBack():
            return Failed("the handler stopped early although nobody told it to")
        case _:
            assert_never(ending)


def _succeeded(value: object) -> Succeeded | Failed:
    try:
        return Succeeded(encode_result(value))
    except ResultError as error:
        return Failed(str(error))


def _cancelled(ending: Ending) -> Cancelled:
    if isinstance(ending, Raised):
        return Cancelled()
    try:
        return Cancelled(encode_result(ending.value))
    except ResultError:
        return Cancelled()
