import threading
from fractions import Fraction
from typing import Any
from uuid import uuid4

import pytest

from treadle import Partial, Run, Stopped, StopReason
from treadle.domain.item import Progress


def run() -> Run:
    return Run(uuid4(), 1)


def test_what_a_report_leaves_out_keeps_its_last_value() -> None:
    it = run()
    assert it.latest == Progress()
    it.progress(done=1, note="walking")
    it.progress(total=9)
    it.progress(done=2)
    assert it.latest == Progress(done=2, total=9, note="walking")


@pytest.mark.parametrize("number", [-1, 2**63])
def test_a_number_that_the_table_cannot_hold_is_refused_by_its_name(number: int) -> None:
    it = run()
    with pytest.raises(ValueError, match=f"progress done must be from 0 to .* is {number}"):
        it.progress(done=number)
    with pytest.raises(ValueError, match="progress total"):
        it.progress(total=number)
    it.progress(done=2**63 - 1, total=0)


@pytest.mark.parametrize("number", [1.5, Fraction(3), "3"])
def test_a_number_that_is_not_whole_is_refused_where_the_handler_hears_it(number: Any) -> None:
    it = run()
    with pytest.raises(TypeError):
        it.progress(done=number)
    assert it.latest == Progress()


def test_a_note_is_made_storable_and_cut() -> None:
    it = run()
    it.progress(note="a\x00b\ud800c" + "x" * 10_000)
    note = it.latest.note
    assert note is not None
    assert len(note) == 500
    assert note.startswith("a\ufffdb")
    assert note.endswith("…")
    note.encode()


def test_reports_from_many_threads_lose_no_field() -> None:
    it = run()
    barrier = threading.Barrier(4)

    def report(index: int) -> None:
        barrier.wait()
        for number in range(2_000):
            if index % 2:
                it.progress(done=number)
            else:
                it.progress(total=number)

    threads = [threading.Thread(target=report, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert it.latest == Progress(done=1_999, total=1_999)


def test_a_run_that_is_not_told_to_stop_goes_on() -> None:
    it = run()
    assert not it.stopping
    assert it.stop_reason is None
    assert not it.wait(0)
    it.check()


def test_once_told_to_stop_every_way_of_asking_says_so() -> None:
    it = run()
    it.stop(StopReason.CANCEL)
    assert it.stopping
    assert it.wait(3600)
    with pytest.raises(Stopped):
        it.check()


@pytest.mark.parametrize("first", StopReason)
@pytest.mark.parametrize("second", StopReason)
def test_only_a_stronger_reason_replaces_the_first(first: StopReason, second: StopReason) -> None:
    strength = [StopReason.SHUTDOWN, StopReason.CANCEL, StopReason.FENCED]
    it = run()
    assert it.stop(first)
    stronger = strength.index(second) > strength.index(first)
    assert it.stop(second) == stronger
    assert it.stop_reason is (second if stronger else first)


def test_a_wait_ends_when_the_stop_comes() -> None:
    it = run()
    woken: list[bool] = []
    thread = threading.Thread(target=lambda: woken.append(it.wait(3600)))
    thread.start()
    it.stop(StopReason.SHUTDOWN)
    thread.join(10)
    assert woken == [True]


def test_a_partial_result_is_marked_as_one() -> None:
    assert run().partial({"copied": 3}) == Partial({"copied": 3})
