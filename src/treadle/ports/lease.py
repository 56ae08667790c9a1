"""Holding work: claim, heartbeat, finish, release, recover. Used by the worker only.

Every write names the attempt it is made for. A write whose attempt is no longer the item's own, or
whose item no longer runs, affects no row and says so in its answer: the holder is *fenced off*.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol
from uuid import UUID

from treadle.domain.item import Claimant, Lease, Progress
from treadle.domain.outcome import Outcome
from treadle.domain.status import Status


@dataclass(frozen=True, slots=True)
class Beat:
    """An accepted heartbeat, and what it brought back."""

    cancel_requested: bool


@dataclass(frozen=True, slots=True)
class Finished:
    """Whether a finish was accepted, and the item claimed with it."""

    accepted: bool
    next: Lease | None = None


@dataclass(frozen=True, slots=True)
class Released:
    """An item that came back from a holder: where it is now."""

    item_id: UUID
    kind: str
    status: Status
    """Queued; cancelled for a pending cancel or a queued twin; failed at the stall limit."""
    superseded_by: UUID | None = None


class Leases(Protocol):
    """All methods raise ``StoreUnavailable`` when the store does not answer in time."""

    async def claim(self, claimant: Claimant) -> Lease | None:
        """Take the oldest queued item the claimant may serve; None when there is none.

        Sets running, claimed_by, started_at and the lease, and adds one to attempt. Progress of an
        earlier attempt is cleared. Two claimants never get the same item.
        """

    async def heartbeat(self, lease: Lease, progress: Progress, extend: timedelta) -> Beat | None:
        """Extend the lease by *extend* from now and write *progress*. None: fenced off."""

    async def finish(
        self, lease: Lease, outcome: Outcome, progress: Progress, claimant: Claimant | None = None
    ) -> Finished:
        """End the item, with its last progress; with a *claimant* also claim the next item, in one step.

        A refused finish claims nothing. A cancelled item's result is partial; a failed one has none.
        """

    async def outcome_of(self, lease: Lease) -> Status | None:
        """The item's status if this attempt is still its latest, else None; for use after a lost reply."""

    async def release(self, lease: Lease, progress: Progress) -> Released | None:
        """Hand the item back, stalls unchanged. None: fenced off.

        What *progress* leaves out stays as the last heartbeat wrote it.
        Ends it cancelled instead for a pending cancel request, or when a queued twin has its dedup
        key (then ``superseded_by`` names the twin, which takes over the stalls).
        """

    async def recover(self, *, stall_limit: int) -> Sequence[Released]:
        """Take back items whose lease ran out: stalls + 1, and failed at the *stall_limit*.

        A pending cancel request ends them cancelled, a queued twin as in ``release``. One bad row
        never stops the rest; what could not be settled now is left to the next sweep.
        """

    async def release_strays(
        self, claimed_by: str, held: Collection[UUID], *, older_than: timedelta
    ) -> Sequence[Released]:
        """Release what was claimed for *claimed_by* more than *older_than* ago and is not *held*.

        After the reply to a claim was lost, the item runs in the table and nowhere else.
        """

    def last_will(self, leases: Sequence[Lease]) -> LastWill | None:
        """How to release *leases* after this process' code has ended; None when there is no way."""


@dataclass(frozen=True, slots=True)
class LastWill:
    """A program to become (``os.execve``), whose only act is to release leases."""

    arguments: Sequence[str]
    environment: dict[str, str]
    prepare: Callable[[], LastWill] | None = None
    """Makes a better will at the last moment, such as one that is carried out faster; it may block or raise."""
