"""Why a queued item is not running."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final
from uuid import UUID

from treadle.admin.shapes import AbleWorker, RunningItem, Waiting
from treadle.domain.item import WorkItem
from treadle.domain.status import Status
from treadle.ports.inspect import Count, Inspect, WorkerInfo

_NAMED: Final = 3
"""How many workers, or items of one, a sentence names."""


async def why_waiting(inspector: Inspect, item: WorkItem) -> Waiting | None:
    """The reason in words, None for an item that does not wait.

    For display: workers say what they do every few seconds, so it may be a little out of date.
    """
    if item.status is not Status.QUEUED:
        return None
    workers = await inspector.workers()
    if not workers:
        return _unserved("no_worker", "No worker is alive.")
    knowing = [worker for worker in workers if item.kind in worker.kinds]
    if not knowing:
        return _unserved("unknown_kind", f"No live worker knows the kind {item.kind}.")
    able = [worker for worker in knowing if _serves(worker, item.scope_id)]
    if not able:
        return _unserved(
            "unserved_scope", f"No live worker that knows the kind {item.kind} serves its scope."
        )
    ahead = await inspector.ahead(item, kinds=_kinds(able), scopes=_scopes(able))
    kinds = await inspector.kinds_of({id_ for worker in able for id_ in worker.running})
    shown = [
        AbleWorker(
            claimed_by=worker.claimed_by,
            running=[RunningItem(id=id_, kind=kinds.get(id_)) for id_ in sorted(worker.running)],
        )
        for worker in able
    ]
    return _served(shown, ahead)


def _unserved(code: str, text: str) -> Waiting:
    return Waiting.model_validate(
        {"code": code, "text": text, "ahead": 0, "ahead_exact": True, "workers": []}
    )


def _served(workers: Sequence[AbleWorker], ahead: Count) -> Waiting:
    queue = _behind(ahead)
    if all(worker.running for worker in workers):
        busy = _listed([f"{worker.claimed_by} runs {_running(worker)}" for worker in workers], "workers")
        code, text = "workers_busy", f"Each worker that could run it is busy: {busy}. {queue}".strip()
    elif ahead.count or not ahead.exact:
        code, text = "behind_others", queue
    else:
        code, text = "about_to_start", "A worker is free: it is about to start."
    return Waiting.model_validate(
        {"code": code, "text": text, "ahead": ahead.count, "ahead_exact": ahead.exact, "workers": workers}
    )


def _behind(ahead: Count) -> str:
    if ahead.exact and not ahead.count:
        return ""
    number = f"{ahead.count:,}" if ahead.exact else f"At least {ahead.count:,}"
    return f"{number} queued {'item comes' if ahead.count == 1 else 'items come'} before it."


def _running(worker: AbleWorker) -> str:
    return _listed([f"{item.kind or 'an item'} {item.id}" for item in worker.running], "items")


def _listed(words: Sequence[str], what: str) -> str:
    more = [f"{len(words) - _NAMED} more {what}"] if len(words) > _NAMED else []
    return ", ".join([*words[:_NAMED], *more])


def _serves(worker: WorkerInfo, scope_id: UUID | None) -> bool:
    return scope_id is None or worker.scopes is None or scope_id in worker.scopes


def _kinds(workers: Sequence[WorkerInfo]) -> Collection[str]:
    return {kind for worker in workers for kind in worker.kinds}


def _scopes(workers: Sequence[WorkerInfo]) -> Collection[UUID] | None:
    if any(worker.scopes is None for worker in workers):
        return None
    return {scope for worker in workers for scope in worker.scopes or ()}
