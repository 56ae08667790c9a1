"""The database that the chaos happens in: a host's tables, and a history that forgets nothing."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, LiteralString
from uuid import UUID

import psycopg

from treadle.postgres import PostgresStore

LEASE: Final = timedelta(milliseconds=400)
INTERVAL: Final = timedelta(milliseconds=800)
STALL_LIMIT: Final = 3
KEYS: Final = [f"key{number}" for number in range(6)]
ONE_SHOT: Final = "one-shot"
PERIODIC: Final = "periodic"

TABLES: LiteralString = """
create table public.scopes (id uuid primary key);
alter table treadle.work_items
    add foreign key (scope_id) references public.scopes (id) on delete cascade;
-- What callers change, and what the work they ask for has to see.
create table public.data (key text primary key, version bigint not null default 0);
-- Each start of an attempt: a second start of the same one is refused.
create table public.starts (item_id uuid, attempt integer, primary key (item_id, attempt));
create table public.history (
    place bigint generated always as identity primary key,
    item_id uuid not null, kind text not null, dedup_key text, scope_id uuid, status text not null,
    attempt integer not null, stalls integer not null, requested_at timestamptz not null, finished_at timestamptz,
    cancel_requested_at timestamptz, superseded_by uuid, result jsonb
);
create function public.record() returns trigger language plpgsql as $$
begin
    insert into public.history (item_id, kind, dedup_key, scope_id, status, attempt, stalls, requested_at,
                                finished_at, cancel_requested_at, superseded_by, result)
    values (new.id, new.kind, new.dedup_key, new.scope_id, new.status, new.attempt, new.stalls, new.requested_at,
            new.finished_at, new.cancel_requested_at, new.superseded_by, new.result);
    return null;
end $$;
create trigger record_insert after insert on treadle.work_items for each row execute function public.record();
create trigger record_update after update on treadle.work_items for each row
    when (old.status <> new.status or old.attempt <> new.attempt)
    execute function public.record();
"""


@dataclass(frozen=True)
class Asked:
    """A caller's committed change, and the item that was to see it."""

    key: str
    version: int
    item_id: UUID


@dataclass
class World:
    """What all actors share."""

    dsn: str
    dice: random.Random
    over: bool = False
    asked: list[Asked] = field(default_factory=list)
    counted: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def prepare(self) -> None:
        """Make the host's tables and the first scopes."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(TABLES)
            connection.execute(
                "insert into public.scopes select gen_random_uuid() from generate_series(1, 6)"
            )
            connection.execute("insert into public.data (key) select unnest(%s::text[])", [KEYS])

    def store(self) -> PostgresStore:
        """A store of an actor's own, as another process has it."""
        return PostgresStore(self.dsn, statement_seconds=5, connections=2)

    def chance(self, probability: float) -> bool:
        return self.dice.random() < probability
