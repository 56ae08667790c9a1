"""The contract of a store, as a test suite: subclass ``StoreContract`` and override ``harness``.

It needs pytest, with pytest-asyncio in its ``auto`` mode, and hypothesis.
"""

import pytest

# Before the parts are imported, so that a failing assert in them shows its values.
pytest.register_assert_rewrite(
    *(
        f"{__name__}.{part}"
        for part in (
            "harness",
            "asking",
            "claiming",
            "holding",
            "ending",
            "returning",
            "upkeep",
            "slots",
            "scopes",
            "reading",
            "paging",
            "following",
            "interleaving",
        )
    )
)

from treadle.testing.contract.asking import AskingContract  # noqa: E402 - after the rewriting is asked for
from treadle.testing.contract.claiming import ClaimingContract  # noqa: E402
from treadle.testing.contract.ending import CancellingContract, FinishingContract  # noqa: E402
from treadle.testing.contract.following import FollowingContract  # noqa: E402
from treadle.testing.contract.harness import StoreHarness  # noqa: E402
from treadle.testing.contract.holding import HoldingContract  # noqa: E402
from treadle.testing.contract.interleaving import InterleavingContract  # noqa: E402
from treadle.testing.contract.paging import PagingContract  # noqa: E402
from treadle.testing.contract.reading import PresenceContract, ReadingContract  # noqa: E402
from treadle.testing.contract.returning import RecoveryContract, ReleaseContract, TwinContract  # noqa: E402
from treadle.testing.contract.scopes import ScopeContract  # noqa: E402
from treadle.testing.contract.slots import SlotContract  # noqa: E402
from treadle.testing.contract.upkeep import RetentionContract, SchedulingContract  # noqa: E402

__all__ = ["StoreContract", "StoreHarness"]


class StoreContract(
    AskingContract,
    ClaimingContract,
    HoldingContract,
    FinishingContract,
    CancellingContract,
    RecoveryContract,
    ReleaseContract,
    TwinContract,
    SchedulingContract,
    SlotContract,
    RetentionContract,
    ScopeContract,
    ReadingContract,
    PresenceContract,
    PagingContract,
    FollowingContract,
    InterleavingContract,
):
    """All parts of the contract."""
