"""What the API needs of a store."""

from __future__ import annotations

from typing import Protocol

from treadle.ports.cancel import Cancel
from treadle.ports.inspect import Inspect
from treadle.ports.live import Live


class AdminStore(Protocol):
    """Reads and cancels. ``PostgresClient`` is one; whoever makes it opens and closes it."""

    @property
    def inspector(self) -> Inspect: ...
    @property
    def cancels(self) -> Cancel: ...
    @property
    def live(self) -> Live: ...
