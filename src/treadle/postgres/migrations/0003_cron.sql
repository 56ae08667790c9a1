-- Schedules by the clock: items carry the slot they were queued for, and keys remember when they were first seen.

alter table treadle.work_items add column slot timestamptz;

comment on column treadle.work_items.slot is 'Of items queued by a cron schedule: the time it asked for. One item per key and slot; null for all others.';

create unique index work_items_cron on treadle.work_items (dedup_key, slot)
    where slot is not null;

create table treadle.cron_keys (
    dedup_key text primary key,
    first_seen timestamptz not null default clock_timestamp()
);

comment on table treadle.cron_keys is 'When each key of a cron schedule was first seen: earlier slots are not made up for.';
comment on column treadle.cron_keys.dedup_key is 'As in work_items.dedup_key.';
comment on column treadle.cron_keys.first_seen is 'Only later slots are due.';
