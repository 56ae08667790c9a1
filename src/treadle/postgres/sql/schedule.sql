-- Queue what is due, once per slot: a slot is a dedup key and the newest finished item that the new one follows.
insert into treadle.work_items (kind, payload, scope_id, dedup_key, follows, requested_at, updated_at)
select due.kind, due.payload::jsonb, due.scope_id, due.dedup_key,
       coalesce(last.id, '00000000-0000-0000-0000-000000000000'),
       coalesce(%(now)s::timestamptz, clock_timestamp()), coalesce(%(now)s::timestamptz, clock_timestamp())
from unnest(
    %(kinds)s::text[], %(payloads)s::text[], %(scope_ids)s::uuid[], %(dedup_keys)s::text[], %(intervals)s::float8[]
) as due (kind, payload, scope_id, dedup_key, seconds)
left join lateral (
    -- One probe answers three questions: is one active (it sorts first), when did the last one end, which is the slot.
    select item.id, item.finished_at
    from treadle.work_items item
    where item.dedup_key = due.dedup_key
    order by item.finished_at desc nulls first, item.id desc
    limit 1
) last on true
where last.id is null
   or last.finished_at <= coalesce(%(now)s::timestamptz, clock_timestamp()) - make_interval(secs => due.seconds)
-- In the order of the keys, so that two schedulers never wait for each other crosswise.
order by due.dedup_key
on conflict do nothing
returning id
