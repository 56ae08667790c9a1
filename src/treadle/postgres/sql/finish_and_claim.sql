-- End one attempt and claim the next item, if the end was accepted; always one row.
with done as (
    update treadle.work_items
    set status = %(status)s,
        finished_at = coalesce(%(now)s::timestamptz, clock_timestamp()),
        lease_until = null,
        progress_done = %(done)s,
        progress_total = %(total)s,
        progress_note = %(note)s,
        result = %(result)s::jsonb,
        error = %(error)s,
        updated_at = coalesce(%(now)s::timestamptz, clock_timestamp()),
        changed_xid = pg_current_xact_id()
    where id = %(id)s
      and attempt = %(attempt)s
      and status = 'running'
    returning id
), refused as (
    insert into treadle.item_events (item_id, attempt, event, at, detail)
    select item.id, %(attempt)s, 'refused', coalesce(%(now)s::timestamptz, clock_timestamp()), %(claimed_by)s
    from treadle.work_items item
    where item.id = %(id)s
      and not exists (select from done)
      -- Our own end, written before its reply was lost, is no zombie's write.
      and not (
          item.attempt = %(attempt)s
          and (item.status = 'running' or item.finished_at is not null and item.stalls = %(stalls)s)
      )
), head as materialized (
    select id, requested_at, kind, scope_id
    from treadle.work_items
    where status = 'queued'
      and finished_at is null
      and (requested_at, id) >= (%(after_at)s::timestamptz, %(after_id)s::uuid)
      and exists (select from done)
    order by requested_at, id
    limit %(window)s
), pick as materialized (
    -- Row by row in order, each by its id: a join would read the whole table when the planner takes it for small.
    select free.id
    from (
        select id, requested_at
        from head
        where kind = any(%(kinds)s)
          and (%(scopes)s::uuid[] is null or scope_id is null or scope_id = any(%(scopes)s::uuid[]))
        order by requested_at, id
    ) candidate
    cross join lateral (
        -- lease_until and finished_at say "still queued" without naming what the partial indexes are made of.
        select item.id
        from treadle.work_items item
        where item.id = candidate.id
          and item.lease_until is null
          and item.finished_at is null
        for update skip locked
    ) free
    order by candidate.requested_at, candidate.id
    limit 1
), claimed as (
    update treadle.work_items item
    set status = 'running',
        attempt = item.attempt + 1,
        claimed_by = %(claimed_by)s,
        started_at = coalesce(%(now)s::timestamptz, clock_timestamp()),
        lease_until = coalesce(%(now)s::timestamptz, clock_timestamp()) + make_interval(secs => %(lease)s),
        progress_done = null,
        progress_total = null,
        progress_note = null,
        updated_at = coalesce(%(now)s::timestamptz, clock_timestamp()),
        changed_xid = pg_current_xact_id()
    from pick
    where item.id = pick.id
    returning item.id, item.attempt, item.kind, item.payload::text as payload, item.scope_id, item.dedup_key,
              item.requested_by, item.requested_at, item.stalls, item.slot
)
select exists (select from done) as accepted,
       case when not exists (select from claimed) then (select count(*) from head) end as seen, claimed.*
from (select) as always
left join claimed on true
