"""The code that carries out one kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar, get_args, get_origin

from treadle.domain.payload import P, WorkPayload
from treadle.domain.run import Run


class Handler(ABC, Generic[P]):
    """Carries out one kind of work. Subclass it with the payload type: ``Handler[Resize]``.

    ``run`` may be ``async def`` (cancelled at its next await when told to stop) or ``def`` (runs in a
    thread of its own and polls ``run.stopping``). What it returns, a pydantic model, dataclass or
    JSON, is the item's result summary, at most 1 MB; ``run.partial(...)`` hands back what was done
    when it stops early. What it raises fails the item; nothing is retried.

    The contract: each run starts from scratch and converges, and its side effects are safe to
    repeat, for work is delivered at least once. Rows of a result table carry item and attempt.
    """

    payload_type: ClassVar[type[WorkPayload] | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for base in cls.__dict__.get("__orig_bases__", ()):
            origin = get_origin(base)
            if isinstance(origin, type) and issubclass(origin, Handler):
                (argument,) = get_args(base)
                if not isinstance(argument, TypeVar):
                    cls.payload_type = argument

    @abstractmethod
    def run(self, payload: P, run: Run) -> object:
        """Do the work of *payload*. See the class for the contract."""
