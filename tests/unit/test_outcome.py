import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.domain.outcome import (
    Cancelled,
    Decision,
    Ending,
    Failed,
    GiveBack,
    HandedBack,
    Nothing,
    Raised,
    Returned,
    StopReason,
    Succeeded,
    decide,
)
from treadle.errors import PayloadError

CANCEL, FENCED, SHUTDOWN = StopReason.CANCEL, StopReason.FENCED, StopReason.SHUTDOWN
BOOM = Raised(ValueError("boom"))


@pytest.mark.parametrize(
    ("reason", "ending", "decision"),
    [
        (None, Returned({"n": 1}), Succeeded({"n": 1})),
        (None, BOOM, Failed("ValueError: boom")),
        (None, HandedBack(1), Failed("the handler stopped early although nobody told it to")),
        # A delivered cancel wins, and keeps what was handed back.
        (CANCEL, Returned({"n": 1}), Cancelled({"n": 1})),
        (CANCEL, HandedBack({"n": 1}), Cancelled({"n": 1})),
        (CANCEL, HandedBack(), Cancelled(None)),
        (CANCEL, BOOM, Cancelled(None)),
        # A shutdown counts against nobody.
        (SHUTDOWN, Returned({"n": 1}), Succeeded({"n": 1})),
        (SHUTDOWN, HandedBack({"n": 1}), GiveBack()),
        (SHUTDOWN, BOOM, GiveBack()),
        # What is no longer ours is not written.
        (FENCED, Returned({"n": 1}), Nothing()),
        (FENCED, HandedBack(), Nothing()),
        (FENCED, BOOM, Nothing()),
    ],
)
def test_what_becomes_of_an_item(reason: StopReason | None, ending: Ending, decision: Decision) -> None:
    assert decide(ending, reason) == decision


def test_a_payload_that_does_not_decode_fails_with_its_own_message() -> None:
    assert decide(Raised(PayloadError("the payload no longer decodes: x")), None) == Failed(
        "the payload no longer decodes: x"
    )


@pytest.mark.parametrize("value", ["\x00", "\ud800", float("nan"), object(), "x" * 1_000_001])
def test_a_result_that_cannot_be_stored_fails_the_item_and_says_so(value: object) -> None:
    decision = decide(Returned(value), None)
    assert isinstance(decision, Failed)
    assert "result" in decision.error
    assert decide(Returned(value), CANCEL) == Cancelled(None)


endings = st.one_of(
    st.builds(Returned, st.text()),
    st.builds(HandedBack, st.text()),
    st.builds(Raised, st.builds(ValueError, st.text())),
)


@given(endings, st.sampled_from([None, *StopReason]))
def test_every_ending_has_a_decision_and_a_failed_item_never_has_a_result(
    ending: Ending, reason: StopReason | None
) -> None:
    decision = decide(ending, reason)
    assert isinstance(decision, Succeeded | Failed | Cancelled | GiveBack | Nothing)
    if isinstance(decision, Failed):
        assert decision.error
        decision.error.encode()
