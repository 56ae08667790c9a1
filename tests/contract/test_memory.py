"""The memory store keeps the contract."""

import pytest

from treadle.testing.contract import StoreContract, StoreHarness
from treadle.testing.memory import MemoryHarness


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def harness(self) -> StoreHarness:
        return MemoryHarness()
