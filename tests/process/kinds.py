"""The work that the fault tests ask for: each kind takes its time in another way."""

from __future__ import annotations

from enum import StrEnum
from uuid import UUID

from treadle import Payload, Registry


class Kind(StrEnum):
    QUICK = "quick"
    AWAIT = "await"
    POLL = "poll"
    SPIN = "spin"
    BLOCK = "block"
    SLEEP = "sleep"
    GREEDY = "greedy"
    DIE = "die"
    PARENT = "parent"
    ODD = "odd"
    REMAINS = "remains"
    CHATTY = "chatty"
    PULSE = "pulse"
    VISIT = "visit"


class Timed(Payload):
    """Work that takes so many seconds if nobody stops it."""

    seconds: float = 60.0
    again: float | None = None
    """Seconds of a later attempt; None for as many."""
    step: float = 0.05
    """Seconds between two of its effects."""


class Quick(Payload, kind=Kind.QUICK):
    """Is done at once."""


class Await(Timed, kind=Kind.AWAIT):
    """Awaits, as a well-behaved ``async def`` does."""


class Poll(Timed, kind=Kind.POLL):
    """Asks between its steps whether it has to stop, as a well-behaved ``def`` does."""


class Spin(Timed, kind=Kind.SPIN):
    """Keeps a thread busy and asks nobody."""


class Block(Timed, kind=Kind.BLOCK):
    """Blocks the event loop."""


class Sleep(Timed, kind=Kind.SLEEP):
    """Sleeps in a thread and asks nobody."""


class Greedy(Timed, kind=Kind.GREEDY):
    """Makes one C call that keeps the interpreter's lock all the time."""


class Die(Payload, kind=Kind.DIE):
    """Ends its process: by ``os._exit``, or killed."""

    killed: bool = False


class Parent(Timed, kind=Kind.PARENT):
    """Starts a child process in a session of its own, then keeps its thread and asks nobody."""


class Odd(Payload, kind=Kind.ODD):
    """Ends with, or notes, what cannot be stored as it is; *case* says what."""

    case: str


class Remains(Timed, kind=Kind.REMAINS):
    """Ends at once, but what it leaves runs code of its own that takes its time; *case* says what."""

    case: str


class Chatty(Timed, kind=Kind.CHATTY):
    """Reports progress a thousand times a second."""


class Pulse(Payload, kind=Kind.PULSE):
    """Periodic work without scope."""

    def dedup_key(self, scope_id: UUID | None) -> str:
        return "pulse"


class Visit(Payload, kind=Kind.VISIT):
    """Periodic work of one scope."""

    place: UUID

    def dedup_key(self, scope_id: UUID | None) -> str:
        return f"visit:{self.place}"


PAYLOADS = (Quick, Await, Poll, Spin, Block, Sleep, Greedy, Die, Parent, Odd, Remains, Chatty, Pulse, Visit)
REGISTRY = Registry(Kind, payloads=PAYLOADS)
"""What an asking process knows."""
