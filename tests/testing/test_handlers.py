import asyncio
from enum import StrEnum
from uuid import UUID, uuid4

import pytest

from treadle import Handler, Payload, Run, StopReason
from treadle.domain.item import Progress
from treadle.domain.outcome import (
    Cancelled,
    Failed,
    GiveBack,
    HandedBack,
    Nothing,
    Raised,
    Succeeded,
    Unstorable,
)
from treadle.errors import PayloadError
from treadle.testing import assert_converges, run_handler


class Kind(StrEnum):
    COPY = "copy"


class Copy(Payload, kind=Kind.COPY):
    names: tuple[str, ...] = ()
    raw: str = ""


class CopyHandler(Handler[Copy]):
    """Copies names into a set, one await each."""

    def __init__(self) -> None:
        self.copied: set[str] = set()

    async def run(self, payload: Copy, run: Run) -> object:
        done = 0
        try:
            for name in payload.names:
                await asyncio.sleep(0)
                self.copied.add(name)
                done += 1
                run.progress(done=done, total=len(payload.names))
        except asyncio.CancelledError:
            return run.partial({"copied": done})
        return {"copied": done}


class PlainCopyHandler(CopyHandler):
    def run(self, payload: Copy, run: Run) -> object:  # type: ignore[override]  # a plain sibling
        for done, name in enumerate(payload.names, 1):
            if run.stopping:
                return run.partial({"copied": done - 1})
            self.copied.add(name)
            run.progress(done=done, total=len(payload.names))
        return {"copied": len(payload.names)}


class AppendHandler(Handler[Copy]):
    """Does not converge: it adds to what an earlier run left."""

    def __init__(self) -> None:
        self.copied: list[str] = []

    def run(self, payload: Copy, run: Run) -> None:
        self.copied += payload.names


class SkipHandler(CopyHandler):
    """Takes a job that was begun for one that was done: converges unless it is cut."""

    async def run(self, payload: Copy, run: Run) -> object:
        return None if self.copied else await super().run(payload, run)


BOTH = pytest.mark.parametrize("kind_of", [CopyHandler, PlainCopyHandler])
PAYLOAD = Copy(names=("a", "b", "c"))


@BOTH
async def test_a_run_to_the_end_gives_result_and_every_snapshot(kind_of: type[CopyHandler]) -> None:
    went = await run_handler(kind_of(), PAYLOAD)
    assert went.decision == Succeeded({"copied": 3})
    assert went.progress == tuple(Progress(done=done, total=3) for done in (1, 2, 3))
    assert not went.was_told


@BOTH
async def test_a_cancelled_run_hands_its_part_back(kind_of: type[CopyHandler]) -> None:
    went = await run_handler(kind_of(), PAYLOAD, stop_after=2)
    assert went.ending == HandedBack({"copied": 2})
    assert went.decision == Cancelled({"copied": 2})


async def test_each_reason_to_stop_has_its_decision() -> None:
    assert (
        await run_handler(CopyHandler(), PAYLOAD, stop=StopReason.SHUTDOWN, stop_after=1)
    ).decision == GiveBack()
    assert (
        await run_handler(CopyHandler(), PAYLOAD, stop=StopReason.FENCED, stop_after=1)
    ).decision == Nothing()


async def test_a_handler_can_be_told_before_it_begins() -> None:
    handler = CopyHandler()
    assert (await run_handler(handler, PAYLOAD, stop_after=0)).was_told
    assert handler.copied == set()


async def test_what_a_handler_raises_is_its_ending() -> None:
    class Fails(Handler[Copy]):
        def run(self, payload: Copy, run: Run) -> None:
            raise ValueError("boom")

    went = await run_handler(Fails(), PAYLOAD)
    assert went.ending == Raised("ValueError: boom")
    assert went.decision == Failed("ValueError: boom")


async def test_the_payload_takes_the_way_it_takes_through_the_queue() -> None:
    seen: list[Copy] = []

    class Looks(Handler[Copy]):
        def run(self, payload: Copy, run: Run) -> None:
            seen.append(payload)

    await run_handler(Looks(), PAYLOAD)
    assert seen == [PAYLOAD]
    assert seen[0] is not PAYLOAD
    with pytest.raises(PayloadError):
        await run_handler(Looks(), Copy(raw="\x00"))


async def test_item_attempt_and_scope_reach_the_handler() -> None:
    class Looks(Handler[Copy]):
        def run(self, payload: Copy, run: Run) -> object:
            return [run.item_id, run.attempt, run.scope_id]

    item, scope = uuid4(), UUID(int=3)
    went = await run_handler(Looks(), Copy(), item_id=item, attempt=7, scope_id=scope)
    assert went.decision == Succeeded([str(item), 7, str(scope)])


@BOTH
async def test_a_handler_that_converges_passes(kind_of: type[CopyHandler]) -> None:
    handler = kind_of()
    reached = await assert_converges(
        handler, PAYLOAD, lambda: set(handler.copied), reset=handler.copied.clear, stop_after=1
    )
    assert reached == {"a", "b", "c"}


async def test_a_handler_that_does_not_converge_is_found_out_by_its_second_run() -> None:
    handler = AppendHandler()
    with pytest.raises(AssertionError, match="does not converge: a second run"):
        await assert_converges(handler, PAYLOAD, lambda: list(handler.copied))


async def test_a_handler_that_only_converges_undisturbed_is_found_out_by_a_cut() -> None:
    handler = SkipHandler()
    with pytest.raises(AssertionError, match="a run that was cut"):
        await assert_converges(
            handler, PAYLOAD, lambda: set(handler.copied), reset=handler.copied.clear, stop_after=1
        )


async def test_a_cut_that_never_happened_is_an_error() -> None:
    handler = CopyHandler()
    with pytest.raises(AssertionError, match="never cut: it ended after 3 progress reports"):
        await assert_converges(handler, PAYLOAD, lambda: None, stop_after=4)


async def test_a_handler_that_fails_is_no_handler_that_converges_and_shows_its_own_error() -> None:
    class Fails(Handler[Copy]):
        def run(self, payload: Copy, run: Run) -> None:
            raise ValueError("boom")

    with pytest.raises(AssertionError, match=r"the handler failed: ValueError: boom\n(.*\n)*.* in run\n"):
        await assert_converges(Fails(), PAYLOAD, lambda: None)


async def test_a_handler_whose_result_cannot_be_stored_fails_and_does_not_converge() -> None:
    class Holds(Handler[Copy]):
        def run(self, payload: Copy, run: Run) -> object:
            return object()

    went = await run_handler(Holds(), PAYLOAD)
    assert isinstance(went.ending, Unstorable)
    assert went.decision == Failed(went.ending.reason)
    with pytest.raises(AssertionError, match="the result cannot be stored"):
        await assert_converges(Holds(), PAYLOAD, lambda: None)


async def test_the_state_may_be_read_asynchronously() -> None:
    handler = CopyHandler()

    async def state() -> set[str]:
        return set(handler.copied)

    assert await assert_converges(handler, PAYLOAD, state) == {"a", "b", "c"}
