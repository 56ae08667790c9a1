"""What a reader of the live events is told, with the store in memory and time faked."""

from __future__ import annotations

import asyncio
import random
import signal
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from starlette.types import Message

from tests.admin.sse import View
from tests.admin.watched import WatchedLive, following
from tests.worker.virtual_time import in_virtual_time, now
from treadle.admin import subscription, tick
from treadle.admin.broadcaster import Broadcaster
from treadle.admin.stream import EventStream, events
from treadle.domain.item import Claimant, Lease, NewItem, Progress
from treadle.domain.outcome import Succeeded
from treadle.memory import MemoryStore
from treadle.ports.live import Lost

ALPHA = NewItem(kind="alpha", payload="{}")
INTERVAL = 2.0
WORKER = Claimant(claimed_by="one@test", kinds=frozenset({"alpha"}), scopes=None, lease=timedelta(seconds=60))


class World:
    """A store, its watched live port, and a broadcaster on it."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.live = WatchedLive(self.store)
        self.broadcaster = Broadcaster(self.live, interval=INTERVAL)

    async def put(self) -> UUID:
        return (await self.store.queue.enqueue(ALPHA)).id

    async def take(self) -> Lease:
        lease = await self.store.leases.claim(WORKER)
        assert lease is not None
        return lease

    def table(self) -> dict[UUID, str]:
        return {row.id: row.status.value for row in self.store.table.rows.values()}


async def intervals(count: float) -> None:
    await asyncio.sleep(count * INTERVAL + 0.1)


@in_virtual_time
async def test_a_changed_item_comes_within_an_interval_to_every_reader() -> None:
    world = World()
    async with following(world.broadcaster) as one, following(world.broadcaster) as other:
        await intervals(1)
        item = await world.put()
        await intervals(1)
        assert one.items[item]["status"] == other.items[item]["status"] == "queued"
        await world.store.cancels.cancel(item)
        await intervals(1)
        assert one.items[item]["status"] == other.items[item]["status"] == "cancelled"


@in_virtual_time
async def test_what_changed_since_the_page_was_rendered_comes_first() -> None:
    world = World()
    before = await world.put()
    cursor = await world.live.cursor()
    item = await world.put()
    async with following(world.broadcaster, cursor) as view:
        await asyncio.sleep(0.1)
        assert item in view.items
        assert before not in view.items


@in_virtual_time
async def test_progress_comes_though_it_is_no_change() -> None:
    world = World()
    await world.put()
    lease = await world.take()
    async with following(world.broadcaster) as view:
        await intervals(1)
        await world.store.leases.heartbeat(lease, Progress(done=3, total=10, note="3"), timedelta(seconds=60))
        await intervals(1)
        shown = view.items[lease.item_id]
        assert (shown["progress_done"], shown["progress_total"], shown["progress_note"]) == (3, 10, "3")


@in_virtual_time
async def test_an_item_that_stays_as_it_is_comes_once() -> None:
    world = World()
    async with following(world.broadcaster) as view:
        await intervals(1)
        await world.put()
        await world.put()
        await world.take()
        await intervals(5)
        assert sorted(view.names()) == ["item", "item", "tick", "tick"]


@in_virtual_time
async def test_a_deleted_item_is_gone_from_open_views() -> None:
    world = World()
    await world.put()
    running = (await world.take()).item_id
    waiting = await world.put()
    async with following(world.broadcaster) as view:
        await intervals(1)
        world.store.table.delete([waiting, running])
        await intervals(2)
        assert view.gone == {waiting, running}
        assert view.names().count("gone") == 1


@in_virtual_time
async def test_a_queued_item_that_is_left_alone_is_not_taken_for_gone() -> None:
    world = World()
    async with following(world.broadcaster) as view:
        await intervals(1)
        await world.put()
        await intervals(4)
        assert view.gone == set()


@in_virtual_time
async def test_only_what_completes_a_tick_has_an_id() -> None:
    world = World()
    async with following(world.broadcaster) as view:
        await intervals(1)
        for _ in range(3):
            await world.put()
        world.live.away = True
        await intervals(1)
        world.live.away = False
        await intervals(1)
        world.live.lose = Lost.MANY
        await intervals(1)
        await asyncio.sleep(20)
        world.broadcaster.stop()
        await asyncio.sleep(0.1)
        assert {event.name for event in view.events if event.id is None} == {
            "item",
            "status",
            "reload",
            "end",
        }
        assert {event.name for event in view.events if event.id is not None} == {"tick"}


@in_virtual_time
async def test_the_stream_begins_at_once_and_says_when_to_come_back() -> None:
    world = World()
    world.live.away = True
    async with following(world.broadcaster) as view:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert view.parser.comments
        assert view.parser.retry is not None
        assert 1000 <= view.parser.retry <= 4000


@in_virtual_time
async def test_a_reader_that_comes_back_is_given_what_it_missed() -> None:
    world = World()
    async with following(world.broadcaster), AsyncExitStack() as stack:
        view = await stack.enter_async_context(following(world.broadcaster))
        await intervals(1)
        await stack.aclose()
        missed = [await world.put() for _ in range(3)]
        await intervals(3)
        looks = len(world.live.looks)
        async with following(world.broadcaster, view.cursor) as again:
            await asyncio.sleep(0.01)
            assert sorted(again.items) == sorted(missed)
        assert len(world.live.looks) == looks, "what is remembered needs no look"


@in_virtual_time
async def test_a_cursor_that_is_not_remembered_costs_one_look_for_all_who_bring_it() -> None:
    world = World()
    cursor = await world.live.cursor()
    item = await world.put()
    async with following(world.broadcaster), AsyncExitStack() as stack:
        await asyncio.sleep(0.1)
        looks = len(world.live.looks)
        views = [await stack.enter_async_context(following(world.broadcaster, cursor)) for _ in range(20)]
        await asyncio.sleep(0.1)
        assert [list(view.items) for view in views] == [[item]] * 20
        assert len(world.live.looks) == looks + 1


@in_virtual_time
async def test_five_hundred_readers_cost_one_look_per_interval() -> None:
    world = World()
    async with AsyncExitStack() as stack:
        views = [await stack.enter_async_context(following(world.broadcaster)) for _ in range(500)]
        await asyncio.sleep(0.1)
        begun = now()
        items = []
        for _ in range(10):
            items.append(await world.put())
            await asyncio.sleep(INTERVAL)
        await intervals(1)
        assert len(world.live.looks) <= (now() - begun) / INTERVAL + 1
        for view in views:
            assert sorted(view.items) == sorted(items)


@in_virtual_time
async def test_nobody_looks_while_nobody_reads() -> None:
    world = World()
    async with following(world.broadcaster):
        await intervals(2)
    looks = len(world.live.looks)
    await intervals(10)
    assert len(world.live.looks) == looks
    async with following(world.broadcaster) as view:
        await asyncio.sleep(0.1)
        item = await world.put()
        await intervals(1)
        assert item in view.items


@pytest.mark.parametrize("lost", list(Lost))
def test_a_cursor_that_tells_nothing_is_answered_with_reload(lost: Lost) -> None:
    @in_virtual_time
    async def told() -> None:
        world = World()
        cursor = await world.live.cursor()
        world.live.lose = lost
        async with following(world.broadcaster, cursor) as view:
            await asyncio.sleep(0.1)
            assert view.reloads == [lost.value]
            item = await world.put()
            await intervals(1)
            assert item in view.items, "it goes on from where it is"

    told()


@in_virtual_time
async def test_when_too_much_has_changed_all_are_told_to_reload_and_go_on() -> None:
    world = World()
    async with following(world.broadcaster) as view:
        await intervals(1)
        world.live.lose = Lost.EPOCH
        await intervals(1)
        assert view.reloads == ["epoch"]
        item = await world.put()
        await intervals(1)
        assert item in view.items
        assert view.reloads == ["epoch"]


@in_virtual_time
async def test_a_reader_that_was_away_over_a_reload_is_told_of_it() -> None:
    world = World()
    async with following(world.broadcaster), AsyncExitStack() as stack:
        view = await stack.enter_async_context(following(world.broadcaster))
        await intervals(1)
        await stack.aclose()
        world.live.lose = Lost.EPOCH
        await intervals(1)
        world.live.lose = Lost.EPOCH
        async with following(world.broadcaster, view.cursor) as again:
            await asyncio.sleep(0.1)
            assert again.reloads == ["epoch"]


@in_virtual_time
async def test_a_slow_reader_gets_the_latest_of_each_item() -> None:
    world = World()
    stream = events(world.broadcaster, since=None, expires_at=None)
    view = View()
    view.feed(await anext(stream))
    reading = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0.1)
    view.feed(await reading)
    # From here on it takes nothing, while another one does.
    await world.put()
    lease = await world.take()
    async with following(world.broadcaster) as quick:
        for done in range(20):
            await world.store.leases.heartbeat(lease, Progress(done=done), timedelta(seconds=60))
            await intervals(1)
        await world.store.leases.finish(lease, Succeeded({"n": 1}), Progress())
        await intervals(1)
        assert quick.items[lease.item_id]["status"] == "succeeded"
    view.feed(await anext(stream))
    assert view.items[lease.item_id]["status"] == "succeeded"
    assert view.names().count("item") <= 3, "what was overtaken is not told"
    await stream.aclose()


@in_virtual_time
async def test_a_reader_far_behind_is_told_to_reload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tick, "ITEMS", 10)
    world = World()
    async with world.broadcaster.subscribe(None) as slow:
        await intervals(1)
        for _ in range(12):
            await world.put()
            await intervals(1)
        view = View()
        view.feed(await slow.next(1))
        assert view.reloads == ["many"]
        assert not view.items
        item = await world.put()
        await intervals(1)
        view.feed(await slow.next(1))
        assert list(view.items) == [item]


@in_virtual_time
async def test_a_reader_that_takes_nothing_is_dropped_and_harms_nobody() -> None:
    world = World()
    sent: list[Message] = []
    gave_up_at: list[float] = []

    async def send(message: Message) -> None:
        sent.append(message)
        if len(sent) == 3:
            await asyncio.Event().wait()

    async def receive() -> Message:
        await asyncio.get_running_loop().create_future()
        return {}

    async def respond() -> None:
        await EventStream(events(world.broadcaster, since=None, expires_at=None))({}, receive, send)
        gave_up_at.append(now())

    responding = asyncio.create_task(respond())
    async with following(world.broadcaster) as quick:
        await asyncio.sleep(0.1)
        items = []
        for _ in range(20):
            items.append(await world.put())
            await intervals(1)
            assert items[-1] in quick.items
        assert gave_up_at
        assert 30 <= gave_up_at[0] <= 30 + 2 * INTERVAL
        assert len(world.broadcaster._readers) == 1
    await responding


@in_virtual_time
async def test_a_reader_that_leaves_is_forgotten() -> None:
    world = World()
    left = asyncio.Event()

    async def send(message: Message) -> None:
        pass

    async def receive() -> Message:
        await left.wait()
        return {"type": "http.disconnect"}

    response = EventStream(events(world.broadcaster, since=None, expires_at=None))
    responding = asyncio.create_task(response({}, receive, send))
    await intervals(1)
    assert len(world.broadcaster._readers) == 1
    left.set()
    await responding
    assert not world.broadcaster._readers


@in_virtual_time
async def test_the_stream_ends_with_its_token() -> None:
    world = World()
    async with following(world.broadcaster, expires_at=datetime.now(UTC) + timedelta(minutes=5)) as view:
        await asyncio.sleep(298)
        assert "end" not in view.names()
        item = await world.put()
        await asyncio.sleep(3)
        assert view.ended == "expired"
        cursor = view.cursor
    async with following(world.broadcaster, cursor) as again:
        await intervals(1)
        assert item in {**view.items, **again.items}


@in_virtual_time
async def test_a_token_that_has_expired_gets_only_the_end() -> None:
    world = World()
    async with following(world.broadcaster, expires_at=datetime.now(UTC) - timedelta(hours=1)) as view:
        await asyncio.sleep(0.1)
        assert view.names() == ["end"]


@in_virtual_time
async def test_the_stream_ends_when_the_host_says_so_and_no_other_begins() -> None:
    world = World()
    async with following(world.broadcaster) as view:
        await intervals(1)
        world.broadcaster.stop()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert view.ended == "shutdown"
    async with following(world.broadcaster) as late:
        await asyncio.sleep(0.1)
        assert late.names() == ["end"]


@in_virtual_time
async def test_the_stream_ends_when_the_server_is_told_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    class Server:
        should_exit = False

        def handle_exit(self, number: int, frame: object) -> None:
            """As uvicorn's: a method of the server."""

    server = Server()
    monkeypatch.setattr(signal, "getsignal", lambda _: server.handle_exit)
    world = World()
    async with following(world.broadcaster) as view:
        await intervals(1)
        assert view.ended is None
        server.should_exit = True
        await asyncio.sleep(0.5)
        assert view.ended == "shutdown"


@in_virtual_time
async def test_while_the_database_is_away_the_stream_says_so_and_catches_up() -> None:
    world = World()
    async with following(world.broadcaster) as view:
        await intervals(1)
        world.live.away = True
        item = await world.put()
        await intervals(3)
        assert [event.data for event in view.events if event.name == "status"] == [{"database": "away"}]
        async with following(world.broadcaster, view.cursor) as newcomer:
            await intervals(1)
            assert [event.data for event in newcomer.events] == [{"database": "away"}]
            world.live.away = False
            await intervals(1)
            assert newcomer.items.keys() == view.items.keys() == {item}
        assert [event.data for event in view.events if event.name == "status"] == [
            {"database": "away"}, {"database": "back"},
        ]  # fmt: skip


@in_virtual_time
async def test_a_fault_that_nobody_foresaw_ends_no_stream(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World()
    async with following(world.broadcaster) as view:
        await intervals(1)
        monkeypatch.setattr(world.live, "changes", _raising)
        await intervals(1)
        monkeypatch.undo()
        item = await world.put()
        await intervals(1)
        assert item in view.items
    assert "surprise" in caplog.text


async def _raising(since: str | None) -> None:
    raise KeyError("surprise")


@in_virtual_time
async def test_a_silent_stream_gives_signs_of_life_with_a_cursor_that_stays_young() -> None:
    world = World()
    async with following(world.broadcaster) as view:
        await asyncio.sleep(1)
        first = view.cursor
        await asyncio.sleep(60)
        assert len(view.parser.comments) == 1 + 4
        assert view.cursor != first
        looks = len(world.live.looks)
        async with following(world.broadcaster, view.cursor):
            await asyncio.sleep(0.01)
        assert len(world.live.looks) == looks


@in_virtual_time
async def test_what_comes_in_the_moment_a_sign_of_life_is_due_is_given_first() -> None:
    reader = subscription.Subscription(None)
    reader.admitted = True
    asyncio.get_running_loop().call_at(now() + 15, reader.put, tick.Tick("a", {UUID(int=1): b"item"}))
    assert (await reader.next(15)).startswith(b"item")


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_and_however_often_the_line_breaks_the_view_ends_as_the_table(seed: int) -> None:
    @in_virtual_time
    async def play() -> None:
        dice = random.Random(seed)
        world = World()
        view = View(await world.live.cursor())
        leases: list[Lease] = []
        async with following(world.broadcaster):
            for _ in range(30):
                async with following(world.broadcaster, view.cursor) as line:
                    for _ in range(dice.randrange(6)):
                        await _anything(world, leases, dice)
                        await asyncio.sleep(dice.random() * 3)
                for event in line.events:
                    view.apply(event)
                await _anything(world, leases, dice)
                await asyncio.sleep(dice.choice([0, 0.5, 7]))
            async with following(world.broadcaster, view.cursor) as line:
                await intervals(2)
            for event in line.events:
                view.apply(event)
        assert not view.reloads
        assert {id_: item["status"] for id_, item in view.items.items()} == world.table()

    play()


async def _anything(world: World, leases: list[Lease], dice: random.Random) -> None:
    match dice.randrange(6):
        case 0 | 1:
            await world.put()
        case 2:
            leases += [lease for lease in [await world.store.leases.claim(WORKER)] if lease]
        case 3 if leases:
            await world.store.leases.finish(leases.pop(), Succeeded(), Progress())
        case 4 if leases:
            await world.store.leases.heartbeat(leases[0], Progress(done=1), timedelta(seconds=60))
        case 5 if world.store.table.rows:
            with world.store.table.moment():
                world.store.table.delete([dice.choice(sorted(world.store.table.rows))])


def test_a_merge_keeps_what_is_latest() -> None:
    one, two, three = (UUID(int=number) for number in (1, 2, 3))
    first = tick.Tick("a", {one: b"1a", two: b"2a"}, {three})
    second = tick.Tick("b", {one: b"1b"}, {two})
    assert first.then(second) == tick.Tick("b", {one: b"1b"}, {two, three})
    assert first.then(tick.Tick("c", reload="old")).reload == "old"
    assert subscription.Subscription(None).ended is False
