"""Carries out the token cleanup."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

from pydantic import BaseModel

from anichron.kinds import TokenCleanup
from treadle import Handler, Partial, Run

BATCH: Final = 1_000


class Tokens(Protocol):
    """What the handler needs of the tokens."""

    async def delete_expired(self, *, limit: int) -> int: ...


class TokenCleanupSummary(BaseModel):
    """How many expired tokens were removed."""

    deleted: int


class TokenCleanupHandler(Handler[TokenCleanup]):
    """Removes expired refresh tokens in batches; a run that was cut short is completed by the next."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def run(
        self,
        payload: TokenCleanup,
        run: Run,
    ) -> TokenCleanupSummary | Partial[TokenCleanupSummary]:
        deleted = 0
        try:
            while batch := await self._tokens.delete_expired(limit=BATCH):
                deleted += batch
                run.progress(done=deleted, note=f"{deleted} expired tokens removed")
        except asyncio.CancelledError:
            return run.partial(TokenCleanupSummary(deleted=deleted))
        return TokenCleanupSummary(deleted=deleted)
