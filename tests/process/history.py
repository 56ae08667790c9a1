"""Every change of every item, kept by a trigger, so that a test can see what was true in between."""

from __future__ import annotations

from typing import Final

SQL: Final = """
create table history (
    n bigint generated always as identity primary key,
    id uuid not null,
    at timestamptz not null default clock_timestamp(),
    was jsonb not null,
    became jsonb not null
);
create function remember() returns trigger language plpgsql as $$
begin
    insert into history (id, was, became) values (new.id, to_jsonb(old), to_jsonb(new));
    return null;
end $$;
create trigger remember after update on treadle.work_items for each row execute function remember();
"""
