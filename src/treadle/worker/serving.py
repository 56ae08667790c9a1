"""Which scopes this worker serves, as the host says from time to time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeGuard
from uuid import UUID

from treadle.worker.host import Host
from treadle.worker.journal import note

Scopes = frozenset[UUID] | None
"""None is every scope."""
AskScopes = Callable[[], Scopes | Awaitable[Scopes]]
Serves = Scopes | AskScopes

ANSWER_SECONDS: Final = 30.0
"""How long the host may take to say which scopes are served."""


class Serving:
    """The scopes served, asked for anew every interval.

    Until the first answer no scope is served, only unscoped work. While no answer comes, the last one
    stays in force.
    """

    name = "serves"
    busy = False

    def __init__(
        self,
        ask: AskScopes,
        host: Host,
        *,
        interval: float,
        changed: Callable[[], object],
        seconds: float = ANSWER_SECONDS,
    ) -> None:
        """*ask* is called on the host's loop, and cancelled when it has not answered within *seconds*."""
        self._ask = ask
        self._host = host
        self._interval = interval
        self._changed = changed
        self._seconds = seconds
        self._scopes: Scopes = frozenset()

    def scopes(self) -> Scopes:
        """The scopes by the last answer."""
        return self._scopes

    async def run_once(self) -> float:
        """Ask once. Raises ``TimeoutError``, and ``TypeError`` when the answer is no set of scopes."""
        answer = await self._answer()
        if not are_scopes(answer):
            raise TypeError(
                f"serves must give a frozenset of UUIDs, or None for every scope; it gave {answer!r}"
            )
        if answer != self._scopes:
            said = "every scope" if answer is None else f"{len(answer)} scopes"
            note("serves", f"serves {said} now")
            self._scopes = answer
            self._changed()
        return self._interval

    async def _answer(self) -> object:
        limit = asyncio.timeout(self._seconds)
        try:
            async with limit:
                return await self._host.ask(self._ask)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise TimeoutError(f"the host has not said within {self._seconds:g} s what is served") from error


def are_scopes(answer: object) -> TypeGuard[Scopes]:
    """Whether *answer* is what a host may say of the scopes it serves."""
    return answer is None or (
        isinstance(answer, frozenset) and all(isinstance(part, UUID) for part in answer)
    )
