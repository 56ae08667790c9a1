"""The kinds of Anichron: their names, dedup keys and schedules."""

from datetime import timedelta
from uuid import UUID

from anichron.kinds import PAYLOADS, Crawl, Kind, TokenCleanup, WorkItemRetention
from anichron.schedules import schedules
from anichron.settings import WorkerSection
from treadle import Registry

CONFIG = UUID("018f2b1c-1111-7000-8000-000000000001")


def test_the_kinds_and_their_dedup_keys_are_those_of_the_specification() -> None:
    assert [kind.value for kind in Kind] == ["token-cleanup", "work-item-retention", "crawl"]
    assert TokenCleanup().dedup_key(None) == "token-cleanup"
    assert WorkItemRetention().dedup_key(None) == "work-item-retention"
    assert Crawl(config_id=CONFIG).dedup_key(CONFIG) == "crawl:018f2b1c-1111-7000-8000-000000000001"


def test_the_api_side_has_every_kind_without_a_handler() -> None:
    registry = Registry(Kind, payloads=PAYLOADS)
    item = registry.new_item(Crawl(config_id=CONFIG), scope_id=CONFIG)
    assert registry.decode(item.kind, f'{{"config_id": "{CONFIG}"}}') == Crawl(config_id=CONFIG)


def test_every_kind_is_due_at_its_interval_and_crawls_for_each_config() -> None:
    settings = WorkerSection(
        crawl_interval_hours=1.5, token_cleanup_interval_hours=2, retention_interval_hours=3
    )
    registry = Registry(Kind, payloads=PAYLOADS, schedules=schedules(settings))
    other = UUID(int=7)
    due = {
        (due.item.dedup_key, due.item.scope_id): due.when
        for schedule in registry.schedules
        for due in registry.due(schedule, [CONFIG, other])
    }
    assert due == {
        ("token-cleanup", None): timedelta(hours=2),
        ("work-item-retention", None): timedelta(hours=3),
        (f"crawl:{CONFIG}", CONFIG): timedelta(minutes=90),
        (f"crawl:{other}", other): timedelta(minutes=90),
    }
