-- The queue's own tables. Times are the database's; ids are uuid v7, made here.

create function treadle.new_id() returns uuid
    language sql volatile parallel safe
    -- A version 7 uuid by RFC 9562: 48 bits of milliseconds, then random bits. PostgreSQL has its own from 18 on.
    return encode(
        set_bit(
            set_bit(
                overlay(
                    uuid_send(gen_random_uuid())
                    placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
                    from 1 for 6
                ),
                52, 1
            ),
            53, 1
        ),
        'hex'
    )::uuid;

comment on function treadle.new_id() is 'A new uuid v7: ids sort by the time they were made, to the millisecond.';

create table treadle.work_items (
    id uuid primary key default treadle.new_id(),
    kind text not null check (kind <> ''),
    payload jsonb not null default '{}' check (jsonb_typeof(payload) = 'object'),
    scope_id uuid,
    dedup_key text check (dedup_key <> ''),
    requested_by text,
    requested_at timestamptz not null default clock_timestamp(),
    status text not null default 'queued'
        check (status in ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    attempt integer not null default 0 check (attempt >= 0),
    stalls integer not null default 0 check (stalls >= 0),
    claimed_by text,
    started_at timestamptz,
    lease_until timestamptz,
    finished_at timestamptz,
    updated_at timestamptz not null default clock_timestamp(),
    cancel_requested_at timestamptz,
    progress_done bigint check (progress_done >= 0),
    progress_total bigint check (progress_total >= 0),
    progress_note text,
    result jsonb,
    error text,
    follows uuid,
    superseded_by uuid,
    changed_xid xid8 not null default pg_current_xact_id(),

    constraint leased_exactly_when_running check ((status = 'running') = (lease_until is not null)),
    constraint finished_exactly_when_terminal
        check ((status in ('succeeded', 'failed', 'cancelled')) = (finished_at is not null)),
    constraint held_by_nobody_when_queued
        check (status <> 'queued' or (claimed_by is null and started_at is null)),
    constraint held_by_somebody_when_running
        check (status <> 'running' or (claimed_by is not null and started_at is not null and attempt > 0)),
    constraint result_only_of_succeeded_or_cancelled check (result is null or status in ('succeeded', 'cancelled')),
    constraint error_exactly_when_failed check ((status = 'failed') = (error is not null)),
    constraint superseded_only_when_cancelled check (superseded_by is null or status = 'cancelled')
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500, autovacuum_analyze_scale_factor = 0.02);

comment on table treadle.work_items is 'One row per request for work, and its outcome.';
comment on column treadle.work_items.id is 'uuid v7; sorts by the time of the request.';
comment on column treadle.work_items.kind is 'Stable name of what is to be done; bound to one payload type and one handler.';
comment on column treadle.work_items.payload is 'Typed arguments of the kind, a JSON object. Never shown to admins.';
comment on column treadle.work_items.scope_id is 'Routes the item to the workers that serve this scope; null: any worker. Hosts tie it to their own table.';
comment on column treadle.work_items.dedup_key is 'At most one queued item per key; null never coalesces.';
comment on column treadle.work_items.requested_by is 'Who asked; null: the scheduler.';
comment on column treadle.work_items.requested_at is 'When it was asked for; items are claimed in this order.';
comment on column treadle.work_items.status is 'queued, running, succeeded, failed or cancelled.';
comment on column treadle.work_items.attempt is 'How often it was claimed. Only grows: the fence of every write of a holder.';
comment on column treadle.work_items.stalls is 'How often its lease ran out; at the limit it fails.';
comment on column treadle.work_items.claimed_by is 'The worker that holds it, or held it last, for display and for finding lost claims.';
comment on column treadle.work_items.started_at is 'When the current or last attempt was claimed; null while queued.';
comment on column treadle.work_items.lease_until is 'Until when the holder owns it; set exactly while running.';
comment on column treadle.work_items.finished_at is 'When it ended; set exactly when the status is final.';
comment on column treadle.work_items.updated_at is 'Last change of any kind, heartbeats included. For display: it is not in commit order.';
comment on column treadle.work_items.cancel_requested_at is 'When an admin asked to cancel it while it ran, or ended it while queued.';
comment on column treadle.work_items.progress_done is 'Units done, of the latest snapshot.';
comment on column treadle.work_items.progress_total is 'Units in all, of the latest snapshot; null: not known yet.';
comment on column treadle.work_items.progress_note is 'Short note of the latest snapshot: ids and counts.';
comment on column treadle.work_items.result is 'Result summary: whole when succeeded, partial when cancelled, never when failed.';
comment on column treadle.work_items.error is 'Why it failed.';
comment on column treadle.work_items.follows is 'Of scheduled items: the finished item of the key that it follows, or zeros. One item per slot.';
comment on column treadle.work_items.superseded_by is 'The queued item of the same key that took over, when this one was on its way back to the queue.';
comment on column treadle.work_items.changed_xid is 'Transaction of the last change other than a heartbeat: the live view reads changes by it.';

-- Predicates come in two parts (status and finished_at is null). A statement that names both wants the index;
-- one that finds its row by id or key names one only, and so never walks these indexes by mistake.
create index work_items_claim on treadle.work_items (requested_at, id)
    where status = 'queued' and finished_at is null;
create index work_items_running on treadle.work_items (started_at, id)
    where status = 'running' and finished_at is null;
create unique index work_items_dedup on treadle.work_items (dedup_key)
    where status = 'queued' and dedup_key is not null;
create index work_items_key on treadle.work_items (dedup_key, finished_at, id)
    where dedup_key is not null;
create unique index work_items_slot on treadle.work_items (dedup_key, follows)
    where follows is not null;
create index work_items_scope on treadle.work_items (scope_id, finished_at, requested_at, id)
    where scope_id is not null;
create index work_items_unscoped on treadle.work_items (requested_at, id)
    where scope_id is null and finished_at is null;
create index work_items_changed on treadle.work_items (changed_xid);
create index work_items_finished on treadle.work_items (finished_at, id)
    where finished_at is not null;

create table treadle.item_events (
    id bigint generated always as identity primary key,
    item_id uuid not null,
    attempt integer not null,
    event text not null check (event in ('stalled', 'released', 'refused', 'cancel_delivered', 'superseded')),
    at timestamptz not null default clock_timestamp(),
    detail text
);
create index item_events_item on treadle.item_events (item_id, id);

comment on table treadle.item_events is 'The exceptional in an item''s life, written by the statement that did or refused it.';
comment on column treadle.item_events.id is 'Order of writing.';
comment on column treadle.item_events.item_id is 'The item; its events go when it goes.';
comment on column treadle.item_events.attempt is 'The attempt that stalled, was released, or whose write was refused.';
comment on column treadle.item_events.event is 'stalled, released, refused, cancel_delivered or superseded.';
comment on column treadle.item_events.at is 'When.';
comment on column treadle.item_events.detail is 'The worker or item that the event is about.';

create table treadle.workers (
    claimed_by text primary key,
    kinds text[] not null,
    scopes uuid[],
    running uuid[] not null,
    started_at timestamptz not null default clock_timestamp(),
    seen_at timestamptz not null default clock_timestamp()
);

comment on table treadle.workers is 'Who is alive, for display and to say why an item waits; correctness never reads it.';
comment on column treadle.workers.claimed_by is 'The worker''s name, as in work_items.claimed_by.';
comment on column treadle.workers.kinds is 'The kinds it has handlers for.';
comment on column treadle.workers.scopes is 'The scopes it serves; null: every one.';
comment on column treadle.workers.running is 'The items it holds.';
comment on column treadle.workers.started_at is 'When it was first seen.';
comment on column treadle.workers.seen_at is 'When it last said so.';

create table treadle.tombstones (
    changed_xid xid8 not null default pg_current_xact_id(),
    deleted_at timestamptz not null default clock_timestamp(),
    item_ids uuid[] not null
);
create index tombstones_changed on treadle.tombstones (changed_xid);

comment on table treadle.tombstones is 'Items deleted a short while ago, for open live views.';
comment on column treadle.tombstones.changed_xid is 'The deleting transaction.';
comment on column treadle.tombstones.deleted_at is 'When; tombstones are purged soon after.';
comment on column treadle.tombstones.item_ids is 'The items that one statement deleted.';

create function treadle.bury_work_items() returns trigger
    language plpgsql security definer set search_path = pg_catalog, treadle as $$
begin
    insert into treadle.tombstones (item_ids) select array_agg(id) from deleted having count(*) > 0;
    delete from treadle.item_events event using deleted where event.item_id = deleted.id;
    return null;
end $$;

comment on function treadle.bury_work_items() is 'Leaves one tombstone per deleting statement, cascades included, and takes the items'' events away.';

create trigger bury_work_items after delete on treadle.work_items
    referencing old table as deleted
    for each statement execute function treadle.bury_work_items();

create function treadle.hold_queued_twin(key text)
    returns table (id uuid, kind text, scope_id uuid, payload jsonb)
    language sql security definer set search_path = pg_catalog, treadle as $$
    select item.id, item.kind, item.scope_id, item.payload
    from treadle.work_items item
    -- Queued, in words for which only work_items_key can be taken: it finds the few unfinished ones of a key.
    where item.dedup_key = hold_queued_twin.key and item.finished_at is null and item.lease_until is null
    for key share
$$;

comment on function treadle.hold_queued_twin(text) is
    'The queued item of a dedup key, kept from being claimed until the caller''s transaction ends: its run must see the caller''s changes.';

create function treadle.cancel_work_item(item uuid, at timestamptz) returns text
    language sql set search_path = pg_catalog, treadle as $$
    update treadle.work_items
    set status = case when status = 'queued' then 'cancelled' else status end,
        finished_at = case when status = 'queued' then coalesce(cancel_work_item.at, clock_timestamp()) end,
        cancel_requested_at = coalesce(cancel_requested_at, cancel_work_item.at, clock_timestamp()),
        updated_at = coalesce(cancel_work_item.at, clock_timestamp()),
        changed_xid = pg_current_xact_id()
    where id = cancel_work_item.item and finished_at is null
    returning status
$$;

comment on function treadle.cancel_work_item(uuid, timestamptz) is
    'Ends a queued item as cancelled or asks a running one to stop; the new status, or null when it had ended or is unknown.';

create function treadle.cancel_work_item(item uuid) returns text
    language sql security definer set search_path = pg_catalog, treadle as $$
    select treadle.cancel_work_item(cancel_work_item.item, null)
$$;

comment on function treadle.cancel_work_item(uuid) is
    'The one change of an item that the API side may make; runs with the owner''s rights.';

revoke all on function treadle.bury_work_items(), treadle.hold_queued_twin(text),
    treadle.cancel_work_item(uuid, timestamptz), treadle.cancel_work_item(uuid) from public;
