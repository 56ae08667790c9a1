-- Claim the oldest servable item behind a long head of others' items: scope by scope, a few each; always one row.
with heads as materialized (
    select own.id, own.requested_at
    from unnest(%(scopes)s::uuid[]) as served (scope_id)
    cross join lateral (
        -- Not status = 'queued': on old statistics that walks the claim index once per scope.
        select id, requested_at
        from treadle.work_items
        where scope_id = served.scope_id
          and finished_at is null
          and lease_until is null
          and coalesce(kind = any(%(kinds)s), false)
        order by finished_at, requested_at, id
        limit %(heads)s
    ) own
    union all
    (
        select id, requested_at
        from treadle.work_items
        where scope_id is null
          and finished_at is null
          and lease_until is null
          and %(scopes)s::uuid[] is not null
          and coalesce(kind = any(%(kinds)s), false)
        order by requested_at, id
        limit %(heads)s
    )
    union all
    (
        select id, requested_at
        from treadle.work_items
        where status = 'queued'
          and finished_at is null
          and %(scopes)s::uuid[] is null
          and coalesce(kind = any(%(kinds)s), false)
        order by requested_at, id
        limit %(heads)s
    )
), pick as materialized (
    -- Row by row in order, each by its id: see claim.sql.
    select free.id
    from (
        select id, requested_at from heads order by requested_at, id
    ) candidate
    cross join lateral (
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
select (select count(*) from heads) as seen, claimed.*
from (select) as always
left join claimed on true
