"""What ``import treadle`` gives."""

import subprocess
import sys

import treadle


def test_all_names_are_there_and_sorted() -> None:
    assert treadle.__all__ == sorted(treadle.__all__)
    for name in treadle.__all__:
        assert getattr(treadle, name).__module__.startswith("treadle.")


def test_importing_it_needs_no_driver_and_no_web_framework() -> None:
    heavy = "{'psycopg', 'psycopg_pool', 'fastapi', 'starlette', 'typer', 'rich'}"
    program = f"import sys, treadle; sys.exit(repr({heavy} & set(sys.modules)) if {heavy} & set(sys.modules) else 0)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


def test_the_task_scheduler_loads_nothing_else_of_the_library_and_no_driver() -> None:
    program = (
        "import sys, treadle.task_scheduler;"
        "print(sorted(name for name in sys.modules if name.startswith('treadle')),"
        " {'psycopg', 'psycopg_pool', 'pydantic', 'asyncio'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "['treadle', 'treadle.task_scheduler'] set()"


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    assert not hasattr(treadle, "Nothing")
