-- Queue what is due, once per slot: a slot is a dedup key and the newest finished item that none follows yet.
insert into treadle.work_items (kind, payload, scope_id, dedup_key, follows, requested_at, updated_at)
select due.kind, due.payload::jsonb, due.scope_id, due.dedup_key,
       coalesce(
           (
               -- The last one, unless the clock went back: then what was queued after it has finished before it.
               select item.id
               from treadle.work_items item
               where item.dedup_key = due.dedup_key and item.finished_at is not null
                 and not exists (
                     select from treadle.work_items successor
                     where successor.dedup_key = due.dedup_key and successor.follows = item.id
                 )
               order by item.finished_at desc, item.id desc
               limit 1
           ),
           '00000000-0000-0000-0000-000000000000'
       ),
       coalesce(%(now)s::timestamptz, clock_timestamp()), coalesce(%(now)s::timestamptz, clock_timestamp())
from unnest(
    %(kinds)s::text[], %(payloads)s::text[], %(scope_ids)s::uuid[], %(dedup_keys)s::text[], %(intervals)s::float8[]
) as due (kind, payload, scope_id, dedup_key, seconds)
left join lateral (
    -- One probe answers two questions: is one active (it sorts first), and when did the last one end.
    select item.id, item.finished_at
    from treadle.work_items item
    where item.dedup_key = due.dedup_key
      -- What finished further ahead than an interval was written by a wrong clock.
      and (
          item.finished_at
          <= coalesce(%(now)s::timestamptz, clock_timestamp()) + make_interval(secs => due.seconds)
      ) is not false
    order by item.finished_at desc nulls first, item.id desc
    limit 1
) last on true
where last.id is null
   or last.finished_at <= coalesce(%(now)s::timestamptz, clock_timestamp()) - make_interval(secs => due.seconds)
-- In the order of the keys, so that two schedulers never wait for each other crosswise.
order by due.dedup_key
on conflict do nothing
returning id
