"""Many readers on one API process, in short; ``benchmarks/live_clients.py`` does it with 500."""

from __future__ import annotations

import pytest

from benchmarks.live_clients import measure


@pytest.mark.process
async def test_every_reader_sees_every_change(dsn: str) -> None:
    figures = await measure(dsn, clients=40, seconds=5, changes=10)

    assert figures["changes"] > 10
    assert figures["missed"] == 0
