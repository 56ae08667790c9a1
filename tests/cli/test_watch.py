"""What a watch shows of work as it goes, driven by a store in memory."""

import io
from datetime import timedelta

from rich.console import Console

from treadle.cli.watch import Bars, JsonLines, Lines, Snapshot, snapshots, view_for
from treadle.domain.item import Claimant, NewItem, Progress
from treadle.domain.outcome import Succeeded
from treadle.memory import MemoryStore

CLAIMANT = Claimant(claimed_by="w", kinds=frozenset({"crawl"}), scopes=None, lease=timedelta(minutes=1))


def terminal() -> tuple[Console, io.StringIO]:
    screen = io.StringIO()
    return Console(file=screen, force_terminal=True, width=100, color_system=None), screen


async def test_snapshots_follow_an_item_from_the_queue_to_its_end() -> None:
    async with MemoryStore() as store:
        states = snapshots(store.inspector, seconds=0)
        assert (await anext(states)).idle
        queued = await store.queue.enqueue(NewItem(kind="crawl", payload="{}"))
        assert [item.id for item in (await anext(states)).queued] == [queued.id]
        lease = await store.leases.claim(CLAIMANT)
        assert lease is not None
        await store.leases.heartbeat(lease, Progress(done=2), timedelta(minutes=1))
        assert [item.progress_done for item in (await anext(states)).running] == [2]
        await store.leases.finish(lease, Succeeded({"found": 2}), Progress(done=2, total=2))
        ended = await anext(states)
        assert ended.idle
        assert [item.result for item in ended.ended] == [{"found": 2}]
        assert (await anext(states)).ended == []
        await states.aclose()


async def test_work_that_begins_and_ends_between_two_looks_is_seen_once() -> None:
    async with MemoryStore() as store:
        states = snapshots(store.inspector, seconds=0)
        await anext(states)
        await store.queue.enqueue(NewItem(kind="crawl", payload="{}"))
        lease = await store.leases.claim(CLAIMANT)
        assert lease is not None
        await store.leases.finish(lease, Succeeded(), Progress())
        assert [item.id for item in (await anext(states)).ended] == [lease.item_id]
        assert (await anext(states)).ended == []
        await states.aclose()


async def test_a_bar_has_no_end_until_the_total_is_known() -> None:
    async with MemoryStore() as store:
        await store.queue.enqueue(NewItem(kind="crawl", payload="{}"))
        lease = await store.leases.claim(CLAIMANT)
        assert lease is not None
        console, screen = terminal()
        with Bars(console) as bars:
            for progress in (Progress(done=3, note="found 5, failed 0"), Progress(done=3, total=9)):
                await store.leases.heartbeat(lease, progress, timedelta(minutes=1))
                bars.show(Snapshot(queued=[], running=await store.inspector.items(), ended=[]))
                (task,) = bars._progress.tasks
                assert task.total == progress.total
                bars._progress.refresh()
        assert "3/?" in screen.getvalue()
        assert "3/9" in screen.getvalue()


async def test_lines_say_only_what_changed() -> None:
    async with MemoryStore() as store:
        await store.queue.enqueue(NewItem(kind="crawl", payload="{}"))
        lease = await store.leases.claim(CLAIMANT)
        assert lease is not None
        screen = io.StringIO()
        with Lines(Console(file=screen)) as lines:
            for _ in range(2):
                lines.show(Snapshot(queued=[], running=await store.inspector.items(), ended=[]))
            await store.leases.finish(lease, Succeeded({"found": 2}), Progress())
            lines.show(Snapshot(queued=[], running=[], ended=await store.inspector.items()))
        first, second = screen.getvalue().splitlines()
        assert first == f"crawl {lease.item_id} running"
        assert second == f'crawl {lease.item_id} succeeded {{"found": 2}}'


def test_bars_are_for_terminals_only() -> None:
    assert isinstance(view_for(terminal()[0]), Bars)
    assert isinstance(view_for(Console(file=io.StringIO())), Lines)
    assert not isinstance(view_for(Console(file=io.StringIO())), JsonLines)
