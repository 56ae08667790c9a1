"""What can go wrong, by cause; every public error of the library is one of these."""

from __future__ import annotations

from uuid import UUID


class TreadleError(Exception):
    """Base of every error the library raises on purpose."""


class RegistryError(TreadleError):
    """Kinds, payloads, handlers or schedules do not fit together; the message names each fault."""


class PayloadError(TreadleError):
    """A payload cannot be stored, or a stored one no longer decodes."""


class ResultError(TreadleError):
    """A handler's result cannot be stored whole."""


class SettingsError(TreadleError):
    """A setting is missing or makes no sense; the message names it and says what would."""


class DedupConflict(TreadleError):
    """An item with the same dedup key but another payload is already queued; nothing was queued."""

    def __init__(self, dedup_key: str, item_id: UUID) -> None:
        super().__init__(
            f"work item {item_id} is queued under the dedup key {dedup_key!r} with another payload; "
            "wait until it has started, cancel it, or give the payloads different keys"
        )
        self.dedup_key = dedup_key
        self.item_id = item_id


class UnknownScope(TreadleError):
    """The scope's row does not exist (any more); nothing was queued."""

    def __init__(self, scope_id: UUID | None) -> None:
        super().__init__(f"scope {scope_id} does not exist; it may have been deleted")
        self.scope_id = scope_id


class StoreUnavailable(TreadleError):
    """The database did not answer, or not in time. Whether the statement took effect is unknown."""


class SchemaMismatch(TreadleError):
    """The database's schema is not the one this version of the library works with."""
