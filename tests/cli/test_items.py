"""`treadle items`: what operators and scripts read, and what cancel answers."""

import asyncio
import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from subprocess import CompletedProcess
from uuid import UUID, uuid4

import psycopg

from treadle.domain.item import Claimant, NewItem, Progress
from treadle.domain.outcome import Failed, Succeeded
from treadle.postgres import PostgresStore

Command = Callable[..., CompletedProcess[str]]
Ids = dict[str, UUID]

# The specification's columns, but for the payload and the dedup key, which nobody is shown.
SHOWN = {
    *("id", "kind", "scope_id", "requested_by", "requested_at", "status", "attempt", "stalls", "claimed_by"),
    *("started_at", "lease_until", "finished_at", "updated_at", "cancel_requested_at"),
    *("progress_done", "progress_total", "progress_note", "result", "error"),
}


def rows(answer: CompletedProcess[str]) -> list[dict[str, object]]:
    assert (answer.returncode, answer.stderr) == (0, "")
    return [json.loads(line) for line in answer.stdout.splitlines()]


def test_a_list_fits_80_columns_and_shows_every_id_whole(treadle: Command, items: Ids) -> None:
    answer = treadle("items", "list")
    lines = answer.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    newest_first = [
        str(items[status]) for status in ("queued", "running", "cancelled", "failed", "succeeded")
    ]
    assert [line.split()[:2] for line in lines[1:]] == [
        [id_, status]
        for id_, status in zip(
            newest_first, ["queued", "running", "cancelled", "failed", "succeeded"], strict=True
        )
    ]
    assert "work-item-retention" in lines[-1]
    assert "3/?" in lines[2]


def test_an_empty_list_says_so(treadle: Command) -> None:
    assert treadle("items", "list").stdout == "no work items\n"


def test_a_list_is_filtered_by_status_and_kind(treadle: Command, items: Ids) -> None:
    two = rows(treadle("items", "list", "--status", "running", "--status", "failed", "--json"))
    assert [row["id"] for row in two] == [str(items["running"]), str(items["failed"])]
    one = rows(treadle("items", "list", "--kind", "work-item-retention", "--json"))
    assert [row["id"] for row in one] == [str(items["succeeded"])]
    assert rows(treadle("items", "list", "--scope", uuid4(), "--json")) == []
    assert [row["id"] for row in rows(treadle("items", "list", "--limit", 1, "--json"))] == [
        str(items["queued"])
    ]


def test_json_has_every_column_but_payload_and_dedup_key(treadle: Command, items: Ids) -> None:
    listed = {row["status"]: row for row in rows(treadle("items", "list", "--json"))}
    for row in listed.values():
        assert row.keys() >= SHOWN
        assert not {"payload", "dedup_key"} & row.keys()
        at = datetime.fromisoformat(str(row["requested_at"]))
        assert at.utcoffset() == timedelta(0)
    assert listed["succeeded"]["result"] == {"deleted": 17}
    assert [status for status, row in listed.items() if row["partial"]] == ["cancelled"]


def test_show_tells_error_and_note_and_marks_a_partial_result(treadle: Command, items: Ids) -> None:
    assert "NotMounted: not mounted here" in treadle("items", "show", items["failed"]).stdout
    assert "found 7, failed 0" in treadle("items", "show", items["running"]).stdout
    assert "partial result" in treadle("items", "show", items["cancelled"]).stdout
    assert "partial result" not in treadle("items", "show", items["succeeded"]).stdout


def test_show_tells_the_slot_of_a_cron_schedules_item(treadle: Command, items: Ids, dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "update treadle.work_items set dedup_key = 'k', slot = '2026-03-29 03:00+02' where id = %s",
            [items["queued"]],
        )
    shown = treadle("items", "show", items["queued"], "--absolute").stdout
    assert re.search(r"^scheduled for +2026-03-29 01:00:00Z *$", shown, re.MULTILINE)
    assert "scheduled for" not in treadle("items", "show", items["running"]).stdout


def test_show_tells_when_in_utc_or_how_long_ago(treadle: Command, items: Ids) -> None:
    (row,) = rows(treadle("items", "show", items["succeeded"], "--json"))
    finished = datetime.fromisoformat(str(row["finished_at"]))
    absolute = treadle("items", "show", items["succeeded"], "--absolute").stdout
    assert f"{finished:%Y-%m-%d %H:%M:%S}Z" in absolute
    assert " ago" not in absolute
    assert " s ago" in treadle("items", "show", items["succeeded"]).stdout


def test_show_tells_what_went_wrong_on_the_way(treadle: Command, items: Ids, dsn: str) -> None:
    async def release() -> None:
        async with PostgresStore(dsn) as store:
            claimant = Claimant(
                claimed_by="w", kinds=frozenset({"other"}), scopes=None, lease=timedelta(hours=1)
            )
            await store.queue.enqueue(NewItem(kind="other", payload="{}"))
            lease = await store.leases.claim(claimant)
            assert lease is not None
            await store.leases.release(lease, Progress())

    asyncio.run(release())
    (row,) = rows(treadle("items", "list", "--kind", "other", "--json"))
    assert "released, attempt 1" in treadle("items", "show", row["id"]).stdout
    (shown,) = rows(treadle("items", "show", row["id"], "--json"))
    events = shown["events"]
    assert isinstance(events, list)
    assert [event["event"] for event in events] == ["released"]


def test_cancelling_a_queued_item_ends_it_at_once(treadle: Command, items: Ids) -> None:
    assert treadle("items", "cancel", items["queued"]).returncode == 0
    (row,) = rows(treadle("items", "show", items["queued"], "--json"))
    assert row["status"] == "cancelled"


def test_cancelling_a_running_item_asks_its_worker(treadle: Command, items: Ids) -> None:
    answer = treadle("items", "cancel", items["running"])
    assert answer.returncode == 0
    assert "heartbeat" in answer.stdout
    (row,) = rows(treadle("items", "show", items["running"], "--json"))
    assert row["status"] == "running"
    assert row["cancel_requested_at"] is not None


def test_cancelling_a_finished_item_is_refused(treadle: Command, items: Ids) -> None:
    answer = treadle("items", "cancel", items["succeeded"])
    assert answer.returncode == 1
    assert answer.stderr.count("\n") == 1
    assert "succeeded" in answer.stderr


def test_an_unknown_item_is_one_line_and_exit_code_1(treadle: Command) -> None:
    for command in ("show", "cancel", "watch"):
        answer = treadle("items", command, uuid4())
        assert answer.returncode == 1
        assert answer.stdout == ""
        assert answer.stderr.count("\n") == 1
        assert "treadle items list" in answer.stderr


def test_watching_an_ended_item_answers_how_it_ended(treadle: Command, items: Ids) -> None:
    assert treadle("items", "watch", items["succeeded"]).returncode == 0
    failed = treadle("items", "watch", items["failed"])
    assert failed.returncode == 1
    assert "not mounted here" in failed.stdout
    assert treadle("items", "watch", items["cancelled"]).returncode == 1


def test_watching_until_idle_ends_when_nothing_is_left(treadle: Command, items: Ids, dsn: str) -> None:
    assert treadle("items", "cancel", items["queued"]).returncode == 0

    async def finish() -> None:
        async with PostgresStore(dsn) as store:
            await store.leases.recover(stall_limit=3)
            item = await store.inspector.item(items["running"])
            assert item is not None
            # As its worker would, by the lease that the table tells.
            from treadle.domain.item import Lease

            lease = Lease(
                item_id=item.id,
                attempt=item.attempt,
                kind=item.kind,
                payload="{}",
                scope_id=None,
                dedup_key=None,
                requested_by=item.requested_by,
                requested_at=item.requested_at,
                stalls=0,
            )
            assert (await store.leases.finish(lease, Succeeded(), Progress(done=7, total=7))).accepted

    asyncio.run(finish())
    answer = treadle("items", "watch", "--until-idle", "--json")
    assert answer.returncode == 0


def test_a_failing_watch_says_which_item(treadle: Command, items: Ids) -> None:
    (line,) = rows_of_watch(treadle("items", "watch", items["failed"], "--json"))
    assert line["id"] == str(items["failed"])
    assert line["error"] == Failed("NotMounted: not mounted here").error


def rows_of_watch(answer: CompletedProcess[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in answer.stdout.splitlines()]
