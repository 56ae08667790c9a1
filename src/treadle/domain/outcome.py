"""What a run ended in, and what that means for its item."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, TypeVar, assert_never

from pydantic import JsonValue

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


# How the handler's code ended: plain data, as it is stored. Nothing of the handler's own is in it, whose code
# would run where it is looked at or dropped.


@dataclass(frozen=True, slots=True)
class Returned:
    """The handler ran to its end; `value` is its result as JSON."""

    value: JsonValue = None


@dataclass(frozen=True, slots=True)
class Unstorable:
    """The handler ran to its end with a result that cannot be stored."""

    reason: str


@dataclass(frozen=True, slots=True)
class HandedBack:
    """The handler stopped early; `value` is its partial result as JSON, None without one that can be stored."""

    value: JsonValue = None


@dataclass(frozen=True, slots=True)
class Raised:
    """The handler raised; `error` is one line for the admin, `traceback` is for the log."""

    error: str
    traceback: str = field(default="", compare=False)


Ending = Returned | Unstorable | HandedBack | Raised


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
    succeeded (or failed for its result); one that stopped for it, or raised while stopping, is given back.
    """
    match reason:
        case StopReason.FENCED:
            return Nothing()
        case StopReason.CANCEL:
            return _cancelled(ending)
        case StopReason.SHUTDOWN:
            return _undisturbed(ending) if isinstance(ending, Returned | Unstorable) else GiveBack()
        case None:
            return _undisturbed(ending)
        case _:
            assert_never(reason)


def _undisturbed(ending: Ending) -> Outcome:
    match ending:
        case Returned(value):
            return Succeeded(value)
        case Unstorable(reason):
            return Failed(reason)
        case Raised(error):
            return Failed(error)
        case HandedBack():
            return Failed("the handler stopped early although nobody told it to")
        case _:
            assert_never(ending)


def _cancelled(ending: Ending) -> Cancelled:
    return Cancelled(ending.value) if isinstance(ending, Returned | HandedBack) else Cancelled()
