"""What a statement touches: its plan, by EXPLAIN, rolled back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, LiteralString

import psycopg

from treadle.postgres.statements import statement

Node = dict[str, Any]
Mode = Literal["force_custom_plan", "force_generic_plan"]


@dataclass(frozen=True)
class Plan:
    """A plan that was carried out."""

    indexes: frozenset[str]
    """The indexes it read."""
    scanned: frozenset[str]
    """The tables it read from end to end."""
    sorts: int
    """The most rows that one sort had to take in."""
    buffers: int
    """Pages touched, in memory or not; those that planning touched are not among them."""
    text: str


def explain(connection: psycopg.Connection[Any], name: str, mode: Mode, **values: object) -> Plan:
    """Carry out the library's statement called *name* and undo it."""
    return explain_text(connection, statement(name), mode, now=None, **values)


def explain_text(
    connection: psycopg.Connection[Any], text: LiteralString, mode: Mode, **values: object
) -> Plan:
    """As ``explain``, of any statement."""
    with connection.transaction(force_rollback=True):
        connection.execute(f"set local plan_cache_mode = {mode}".encode())
        row = connection.execute(
            "explain (analyze, buffers, timing off, format json) " + text, values
        ).fetchone()
    assert row is not None
    top: Node = row[0][0]["Plan"]
    nodes = list(_walk(top))
    # A statement with data-modifying CTEs counts all of them at its top.
    buffers = max(node["Shared Hit Blocks"] + node["Shared Read Blocks"] for node in nodes)
    return Plan(
        indexes=frozenset(
            node["Index Name"] for node in nodes if "Index Name" in node and node["Actual Loops"]
        ),
        scanned=frozenset(
            node["Relation Name"]
            for node in nodes
            if node["Node Type"] == "Seq Scan" and node["Actual Loops"]
        ),
        sorts=max(
            (node["Plans"][0]["Actual Rows"] for node in nodes if node["Node Type"] == "Sort"), default=0
        ),
        buffers=buffers,
        text=_outline(top),
    )


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.get("Plans", []):
        yield from _walk(child)


def _outline(node: Node, depth: int = 0) -> str:
    facts = [
        node["Node Type"],
        node.get("Index Name", ""),
        node.get("CTE Name", ""),
        f"rows={node['Actual Rows']}",
    ]
    lines = ["  " * depth + " ".join(fact for fact in facts if fact)]
    return "\n".join([*lines, *(_outline(child, depth + 1) for child in node.get("Plans", []))])
