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
    Unstorable,
    decide,
)

CANCEL, FENCED, SHUTDOWN = StopReason.CANCEL, StopReason.FENCED, StopReason.SHUTDOWN
BOOM = Raised("ValueError: boom", "Traceback ...")
UNSTORABLE = Unstorable("the result cannot be stored: x")


@pytest.mark.parametrize(
    ("reason", "ending", "decision"),
    [
        (None, Returned({"n": 1}), Succeeded({"n": 1})),
        (None, BOOM, Failed("ValueError: boom")),
        (None, UNSTORABLE, Failed("the result cannot be stored: x")),
        (None, HandedBack(1), Failed("the handler stopped early although nobody told it to")),
        # A delivered cancel wins, and keeps what was handed back.
        (CANCEL, Returned({"n": 1}), Cancelled({"n": 1})),
        (CANCEL, HandedBack({"n": 1}), Cancelled({"n": 1})),
        (CANCEL, HandedBack(), Cancelled(None)),
        (CANCEL, BOOM, Cancelled(None)),
        (CANCEL, UNSTORABLE, Cancelled(None)),
        # A shutdown counts against nobody.
        (SHUTDOWN, Returned({"n": 1}), Succeeded({"n": 1})),
        (SHUTDOWN, HandedBack({"n": 1}), GiveBack()),
        (SHUTDOWN, BOOM, GiveBack()),
        (SHUTDOWN, UNSTORABLE, Failed("the result cannot be stored: x")),
        # What is no longer ours is not written.
        (FENCED, Returned({"n": 1}), Nothing()),
        (FENCED, HandedBack(), Nothing()),
        (FENCED, BOOM, Nothing()),
        (FENCED, UNSTORABLE, Nothing()),
    ],
)
def test_what_becomes_of_an_item(reason: StopReason | None, ending: Ending, decision: Decision) -> None:
    assert decide(ending, reason) == decision


endings = st.one_of(
    st.builds(Returned, st.text()),
    st.builds(HandedBack, st.text()),
    st.builds(Raised, st.text(min_size=1)),
    st.builds(Unstorable, st.text(min_size=1)),
)


@given(endings, st.sampled_from([None, *StopReason]))
def test_every_ending_has_a_decision_and_a_failed_item_never_has_a_result(
    ending: Ending, reason: StopReason | None
) -> None:
    decision = decide(ending, reason)
    assert isinstance(decision, Succeeded | Failed | Cancelled | GiveBack | Nothing)
    if isinstance(decision, Failed):
        assert decision.error
