"""The kinds of work that Anichron has, and their payloads: what API and Worker have in common."""

from __future__ import annotations

from enum import StrEnum
from uuid import UUID

from treadle.domain.payload import Payload, WorkPayload


class Kind(StrEnum):
    """Everything a Worker can be asked to do."""

    TOKEN_CLEANUP = "token-cleanup"  # noqa: S105 - the name of a kind
    WORK_ITEM_RETENTION = "work-item-retention"
    CRAWL = "crawl"


class TokenCleanup(Payload, kind=Kind.TOKEN_CLEANUP):
    """Remove expired refresh tokens."""

    def dedup_key(self, scope_id: UUID | None) -> str:
        return Kind.TOKEN_CLEANUP


class WorkItemRetention(Payload, kind=Kind.WORK_ITEM_RETENTION):
    """Remove work items that finished long ago."""

    def dedup_key(self, scope_id: UUID | None) -> str:
        return Kind.WORK_ITEM_RETENTION


class Crawl(Payload, kind=Kind.CRAWL):
    """Bring the library up to date with one storage config's folder."""

    config_id: UUID

    def dedup_key(self, scope_id: UUID | None) -> str:
        return f"{Kind.CRAWL}:{self.config_id}"


PAYLOADS: tuple[type[WorkPayload], ...] = (TokenCleanup, WorkItemRetention, Crawl)
