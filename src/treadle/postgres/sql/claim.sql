-- Claim the oldest servable item among the first queued ones; always one row, with how many there were if none.
with head as materialized (
    -- The first rows in order and nothing filtered here: no statistics can talk the planner out of it.
    select id, requested_at, kind, scope_id
    from treadle.work_items
    where status = 'queued'
      and finished_at is null
      and (requested_at, id) >= (%(after_at)s::timestamptz, %(after_id)s::uuid)
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
-- Counted only when it matters: a head that nobody counts is read no further than to the item picked.
select case when not exists (select from claimed) then (select count(*) from head) end as seen, claimed.*
from (select) as always
left join claimed on true
