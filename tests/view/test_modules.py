"""The page's pure functions, called in the browser they are written for."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from playwright.async_api import Page

from tests.view.fake_queue import FakeQueue

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def call(page: Page, queue: FakeQueue, module: str, body: str, *arguments: Any) -> Any:
    """Run *body* with the module as ``m`` and the arguments as ``a``; Playwright's calls are outside the policy."""
    if not page.url.startswith(queue.address):
        await page.goto(f"{queue.address}static/icon.svg")
    script = f"async ([path, a]) => {{ const m = await import(path); {body} }}"
    return await page.evaluate(script, [f"{queue.address}static/{module}.js", list(arguments)])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("9007199254740993", "9007199254740993"),
        ("-123456789012345678901234567890", "-123456789012345678901234567890"),
        ('{"a": [1, 2.50, 1e400]}', '{\n  "a": [\n    1,\n    2.50,\n    1e400\n  ]\n}'),
        ('"\\u00e9\\n\\"<script>"', '"é\\n\\"<script>"'),
        ('{"__proto__": 1}', '{\n  "__proto__": 1\n}'),
        ("[]", "[]"),
        (" [ true , false , null ] ", "[\n  true,\n  false,\n  null\n]"),
    ],
)
async def test_json_keeps_every_digit_and_key(page: Page, queue: FakeQueue, text: str, shown: str) -> None:
    body = "const r = await import(a[1]); return r.textOf(m.parse(a[0]));"
    assert await call(page, queue, "json", body, text, f"{queue.address}static/result.js") == shown


@pytest.mark.parametrize("text", ["", "{", "[1,]", '{"a" 1}', "01", "nul", '"a\nb"', "1 2"])
async def test_json_that_is_none_is_refused(page: Page, queue: FakeQueue, text: str) -> None:
    body = "try { m.parse(a[0]); return 'parsed'; } catch (error) { return error.name; }"
    assert await call(page, queue, "json", body, text) == "SyntaxError"


async def test_events_are_the_same_wherever_the_text_is_cut(page: Page, queue: FakeQueue) -> None:
    text = ": hello\r\nretry: 250\r\n\r\nevent: item\ndata: one\ndata: two\nid: c1\n\ndata:x\r\rid: c2\n\nevent: lost"
    body = """
        const all = [];
        for (let size = 1; size <= a[0].length; size++) {
            const seen = [];
            const parser = new m.EventParser({
                frame: (frame) => seen.push([frame.event, frame.data, frame.id]),
                retry: (ms) => seen.push(["retry", ms]),
                comment: (words) => seen.push(["comment", words]),
            });
            for (let at = 0; at < a[0].length; at += size) parser.push(a[0].slice(at, at + size));
            all.push(JSON.stringify(seen));
        }
        return [...new Set(all)];
    """
    outcomes = await call(page, queue, "sse", body, text)
    assert outcomes == [
        '[["comment","hello"],["retry",250],["item","one\\ntwo","c1"],["message","x",null],["message","","c2"]]'
    ]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.4, "0.4s"),
        (1, "1s"),
        (59.9, "59s"),
        (80, "1m 20s"),
        (7500, "2h 05m"),
        (3 * 86400 + 4 * 3600, "3d 4h"),
    ],
)
async def test_a_span_is_told_in_two_units_at_most(
    page: Page, queue: FakeQueue, seconds: float, words: str
) -> None:
    assert await call(page, queue, "time", "return m.duration(a[0] * 1000)", seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "just now"), (12, "12s ago"), (185, "3m ago"), (7300, "2h ago"), (-30, "in 30s")],
)
async def test_an_age_is_told_in_one_unit(page: Page, queue: FakeQueue, seconds: float, words: str) -> None:
    assert await call(page, queue, "time", "return m.relative(0, a[0] * 1000)", seconds) == words


async def test_a_steady_run_has_its_rate_and_counts_down(page: Page, queue: FakeQueue) -> None:
    body = """
        const pace = new m.Pace(); const lefts = [];
        for (let t = 2; t <= 90; t += 2) { pace.sample(10 * t, t * 1000, 0); lefts.push(pace.left(1000)); }
        return [pace.rate, lefts];
    """
    rate, lefts = await call(page, queue, "pace", body)
    assert rate == pytest.approx(10)
    known = [left for left in lefts if left is not None]
    assert known == sorted(known, reverse=True)
    assert known[-1] == pytest.approx(10, abs=5)


async def test_a_jerky_run_does_not_make_the_time_left_jump(page: Page, queue: FakeQueue) -> None:
    body = """
        const pace = new m.Pace(); const lefts = []; let done = 0;
        for (let t = 2; t <= 120; t += 2) {
            done += t % 4 ? 36 : 4;
            pace.sample(done, t * 1000, 0);
            lefts.push(pace.left(6000));
        }
        return lefts.slice(10);
    """
    lefts = await call(page, queue, "pace", body)
    steps = [abs(later - earlier) for earlier, later in pairwise(lefts)]
    assert max(steps) <= 60
    assert sum(step > 0 for step in steps) < len(steps) / 4


async def test_a_run_that_stands_still_promises_less_and_less(page: Page, queue: FakeQueue) -> None:
    body = """
        const pace = new m.Pace();
        for (let t = 2; t <= 20; t += 2) pace.sample(10 * t, t * 1000, 0);
        const before = pace.left(1000);
        for (let t = 22; t <= 80; t += 2) pace.sample(200, t * 1000, 0);
        return [before, pace.left(1000)];
    """
    before, after = await call(page, queue, "pace", body)
    assert after > 5 * before


async def test_too_little_seen_promises_nothing(page: Page, queue: FakeQueue) -> None:
    body = "const p = new m.Pace(); p.sample(5, 1000, 0); return [p.rate, p.left(100)];"
    assert await call(page, queue, "pace", body) == [None, None]


async def test_counts_say_when_they_are_estimates(page: Page, queue: FakeQueue) -> None:
    body = (
        "return [m.countInWords({count: 4310, exact: true}), m.countInWords({count: 1234567, exact: false})];"
    )
    assert await call(page, queue, "counts", body) == ["4,310", "≈ 1.2M"]


CANCELS = [
    ({"status": "running"}, [], ["done", "open", "none"]),
    ({"status": "running"}, ["cancel_delivered"], ["done", "done", "open"]),
    ({"status": "cancelled"}, ["cancel_delivered"], ["done", "done", "done"]),
    ({"status": "succeeded"}, [], ["done", "none", "missed"]),
    ({"status": "failed"}, ["cancel_delivered"], ["done", "done", "missed"]),
    ({"status": "cancelled", "started_at": None}, [], ["done", "none", "done"]),
]


@pytest.mark.parametrize(("columns", "events", "states"), CANCELS)
async def test_a_cancel_is_requested_delivered_and_stopped(
    page: Page, queue: FakeQueue, columns: dict[str, Any], events: list[str], states: list[str]
) -> None:
    item = {
        "attempt": 1,
        "started_at": "2026-03-01T12:00:00Z",
        "cancel_requested_at": "2026-03-01T12:01:00Z",
        "finished_at": None if columns["status"] == "running" else "2026-03-01T12:02:00Z",
        "partial": False,
        **columns,
    }
    told = [{"event": event, "attempt": 1, "at": "2026-03-01T12:01:02Z", "detail": None} for event in events]
    body = "return m.stepsOf(a[0], a[1]).map((step) => step.state)"
    assert await call(page, queue, "cancelling", body, item, told) == states
