-- Queue what is due by the clock, one item per key and slot; keys that are new are noted, and due from the next slot on.
with asked as materialized (
    -- Of several schedules of a key, the newest slot.
    select distinct on (due.dedup_key) due.kind, due.payload::jsonb as payload, due.scope_id, due.dedup_key, due.slot,
           known.first_seen, moment.now
    from unnest(
        %(kinds)s::text[], %(payloads)s::text[], %(scope_ids)s::uuid[], %(dedup_keys)s::text[], %(slots)s::timestamptz[]
    ) as due (kind, payload, scope_id, dedup_key, slot)
    cross join (select coalesce(%(now)s::timestamptz, clock_timestamp()) as now) moment
    left join treadle.cron_keys known on known.dedup_key = due.dedup_key
    order by due.dedup_key, due.slot desc nulls last
), seen as (
    insert into treadle.cron_keys (dedup_key, first_seen)
    select dedup_key, now from asked where first_seen is null order by dedup_key
    on conflict do nothing
), corrected as (
    -- The clock was wrong then, and the key would not be due for as long as that.
    update treadle.cron_keys known
    set first_seen = asked.now
    from asked
    where asked.first_seen > asked.now and known.dedup_key = asked.dedup_key
), due as materialized (
    select asked.*
    from asked
    left join lateral (
        -- Slots in the future were written by a wrong clock.
        select item.slot
        from treadle.work_items item
        where item.dedup_key = asked.dedup_key and item.slot <= asked.now
        order by item.slot desc
        limit 1
    ) newest on true
    where asked.slot > asked.first_seen and (newest.slot is null or asked.slot > newest.slot)
), twin as materialized (
    select item.id, due.slot
    from due
    cross join lateral (
        select item.id
        from treadle.work_items item
        -- Queued, in words for which only work_items_key can be taken: it finds the few unfinished ones of a key.
        where item.dedup_key = due.dedup_key and item.finished_at is null and item.lease_until is null
          and (item.kind, item.payload) = (due.kind, due.payload) and item.scope_id is not distinct from due.scope_id
          and (item.slot is null or item.slot not between due.slot and due.now)
        -- Held by a claim, or by another scheduler: the next look settles it.
        for no key update skip locked
    ) item
), taken_over as (
    -- A queue that is late runs it once, for the newest slot. By an array of ids: a join would read the whole table
    -- when the planner takes it for small.
    update treadle.work_items item
    set slot = (select slot from twin where twin.id = item.id),
        updated_at = coalesce(%(now)s::timestamptz, clock_timestamp()),
        changed_xid = pg_current_xact_id()
    where item.id = any(array(select id from twin))
)
insert into treadle.work_items (kind, payload, scope_id, dedup_key, slot, requested_at, updated_at)
select due.kind, due.payload, due.scope_id, due.dedup_key, due.slot, due.now, due.now
from due
left join lateral (
    -- What is active sorts first.
    select item.id, item.finished_at
    from treadle.work_items item
    where item.dedup_key = due.dedup_key
    order by item.finished_at desc nulls first, item.id desc
    limit 1
) last on true
where last.id is null or last.finished_at is not null
-- In the order of the keys, so that two schedulers never wait for each other crosswise.
order by due.dedup_key
on conflict do nothing
returning id
