from collections.abc import Collection
from datetime import timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid4

import pytest

from treadle import Every, EveryScope, Handler, Payload, Registry, Run, Schedule
from treadle.domain.item import NewItem
from treadle.errors import PayloadError, RegistryError


class Kind(StrEnum):
    RESIZE = "resize"
    SWEEP = "sweep"


class Other(StrEnum):
    X = "x"


class Resize(Payload, kind=Kind.RESIZE):
    width: int = 1


class Sweep(Payload, kind=Kind.SWEEP):
    def dedup_key(self, scope_id: UUID | None) -> str | None:
        return "sweep" if scope_id is None else f"sweep:{scope_id}"


class Stranger(Payload, kind=Other.X):
    pass


class ResizeHandler(Handler[Resize]):
    async def run(self, payload: Resize, run: Run) -> None:
        pass


class SweepHandler(Handler[Sweep]):
    def run(self, payload: Sweep, run: Run) -> None:
        pass


class Derived(SweepHandler):
    """Binds to its parent's payload."""


class Untyped(Handler[Any]):
    def run(self, payload: Any, run: Run) -> None:
        pass


BOTH: list[type[Payload]] = [Resize, Sweep]


def test_every_kind_with_one_payload_and_one_handler_is_accepted() -> None:
    handlers: list[Handler[Any]] = [ResizeHandler(), Derived()]
    registry = Registry(Kind, payloads=BOTH, handlers=handlers)
    assert registry.kinds == {"resize", "sweep"}
    assert registry.has_handlers
    assert registry.handler("sweep") is handlers[1]


def test_the_api_side_needs_no_handlers() -> None:
    assert not Registry(Kind, payloads=BOTH).has_handlers


@pytest.mark.parametrize(
    ("payloads", "handlers", "faults"),
    [
        ([Resize], None, ["kind 'sweep' has no payload"]),
        ([Resize, Sweep, Sweep], None, ["kind 'sweep' has 2 payloads"]),
        ([Resize, Sweep, Stranger], None, ["payload Stranger declares no kind of Kind"]),
        (BOTH, [], ["kind 'resize' has no handler", "kind 'sweep' has no handler"]),
        (BOTH, [ResizeHandler()], ["kind 'sweep' has no handler"]),
        (BOTH, [ResizeHandler(), SweepHandler(), Derived()], ["kind 'sweep' has 2 handlers"]),
        (
            BOTH,
            [ResizeHandler(), SweepHandler(), Untyped()],
            ["handler Untyped is for no registered payload"],
        ),
        ([Resize], [ResizeHandler()], ["kind 'sweep' has no payload", "kind 'sweep' has no handler"]),
    ],
)
def test_what_is_missing_double_or_unknown_is_named_at_once(
    payloads: Collection[type[Payload]], handlers: list[Handler[Any]] | None, faults: list[str]
) -> None:
    with pytest.raises(RegistryError) as caught:
        Registry(Kind, payloads=list(payloads), handlers=handlers)
    assert str(caught.value).startswith("Kind: ")
    for fault in faults:
        assert fault in str(caught.value)


def test_a_schedule_for_an_unregistered_payload_is_refused() -> None:
    with pytest.raises(RegistryError, match="schedule Every is for Stranger"):
        Registry(Kind, payloads=BOTH, schedules=[Every(Stranger(), timedelta(hours=1))])


def test_a_request_carries_kind_payload_key_scope_and_asker() -> None:
    scope = uuid4()
    item = Registry(Kind, payloads=BOTH).new_item(Sweep(), scope_id=scope, requested_by="ann")
    assert item == NewItem(
        kind="sweep", payload="{}", scope_id=scope, dedup_key=f"sweep:{scope}", requested_by="ann"
    )


def test_a_payload_of_another_registry_or_an_asker_that_cannot_be_stored_is_refused() -> None:
    registry = Registry(Kind, payloads=BOTH)
    with pytest.raises(PayloadError, match="Stranger is not a payload of this registry"):
        registry.new_item(Stranger())
    with pytest.raises(PayloadError, match="requested_by"):
        registry.new_item(Resize(), requested_by="\x00")


def test_periodic_work_is_listed_for_the_scopes_asked_for() -> None:
    one, two = UUID(int=1), UUID(int=2)
    hour, day = timedelta(hours=1), timedelta(days=1)
    schedules: list[Schedule] = [Every(Sweep(), day), EveryScope(Sweep, lambda _: Sweep(), hour)]
    registry = Registry(Kind, payloads=BOTH, schedules=schedules)
    assert registry.periodic_kinds == {"sweep"}
    unscoped, scoped = registry.schedules
    assert [(due.item.dedup_key, due.when) for due in registry.due(unscoped, [one, two])] == [("sweep", day)]
    assert [
        (due.item.scope_id, due.item.dedup_key, due.when) for due in registry.due(scoped, [one, two])
    ] == [
        (one, f"sweep:{one}", hour),
        (two, f"sweep:{two}", hour),
    ]
    assert registry.due(scoped, []) == []


def test_periodic_work_without_a_key_is_refused() -> None:
    registry = Registry(Kind, payloads=BOTH, schedules=[Every(Resize(), timedelta(hours=1))])
    with pytest.raises(PayloadError, match="periodic work needs a dedup key"):
        registry.due(registry.schedules[0], [])


def test_a_stored_payload_becomes_its_type_again() -> None:
    assert Registry(Kind, payloads=BOTH).decode("resize", '{"width": 300}') == Resize(width=300)
