"""How a worker does: what its loops last achieved, and what runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from uuid import UUID

from pydantic import JsonValue
from pydantic_core import to_jsonable_python


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopHealth:
    """One loop of the worker."""

    name: str
    well: bool
    """False while it has not succeeded for long."""
    last_success_age: float | None
    """Seconds since its last successful pass; None before the first."""
    failures: int
    """Failed passes since then."""
    last_error: str | None
    """The type of the last failure, which may be over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningItem:
    """One item whose handler has not ended yet."""

    item_id: UUID
    kind: str
    attempt: int
    seconds: float
    """How long it has been in this worker's hands."""
    stop_reason: str | None
    """Why the handler has been told to stop: "shutdown", "cancel" or "fenced"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """A worker at one moment."""

    claimed_by: str
    ready: bool
    """Whether it takes work and every loop is well."""
    stopping: bool
    loops: Sequence[LoopHealth] = ()
    running: Sequence[RunningItem] = ()

    @property
    def fenced(self) -> Sequence[RunningItem]:
        """Handlers that still run although their item is no longer this worker's; each keeps a slot busy."""
        return [item for item in self.running if item.stop_reason == "fenced"]

    def as_json(self) -> JsonValue:
        """The same as JSON."""
        value: JsonValue = to_jsonable_python(asdict(self))
        return value
