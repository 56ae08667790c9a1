"""The comparison with APScheduler, in short; `benchmarks/task_scheduler.py` does it with 10,000 tasks."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "task_scheduler.py"
COSTS = {"register_us", "register_running_us", "run_us", "cron_next_us"}


@pytest.mark.process
def test_the_comparison_ends_with_figures_of_both_sides() -> None:
    sizes = ["--tasks", "40", "--seconds", "0.2", "--lead", "1", "--rounds", "1"]

    answer = subprocess.run(
        [sys.executable, PROGRAM, *sizes], check=True, stdout=subprocess.PIPE, text=True, timeout=50
    )

    found = json.loads(answer.stdout)
    assert found["tasks"] == 40
    assert set(found["ratio"]) == COSTS
    for side in ("treadle", "apscheduler"):
        assert COSTS | {"idle_wake_ups_per_s", "idle_cpu_ms_per_s"} == set(found[side])
        assert all(0 < found[side][cost] < 1e6 for cost in COSTS)
        assert 0 <= found[side]["idle_wake_ups_per_s"] < 1000
        assert 0 <= found[side]["idle_cpu_ms_per_s"] <= 2000
