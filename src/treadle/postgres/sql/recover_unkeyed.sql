-- Take back a batch of items without dedup key whose lease ran out: these have no twin to meet.
with expired as materialized (
    select id
    from treadle.work_items
    where status = 'running'
      and finished_at is null
      and dedup_key is null
      and lease_until < coalesce(%(now)s::timestamptz, clock_timestamp())
    order by started_at, id
    limit %(limit)s
    for update skip locked
), back as (
    update treadle.work_items item
    set status = case
            when item.cancel_requested_at is not null then 'cancelled'
            when item.stalls + 1 >= %(stall_limit)s then 'failed'
            else 'queued'
        end,
        finished_at = case
            when item.cancel_requested_at is not null or item.stalls + 1 >= %(stall_limit)s
            then coalesce(%(now)s::timestamptz, clock_timestamp())
        end,
        claimed_by = case
            when item.cancel_requested_at is not null or item.stalls + 1 >= %(stall_limit)s then item.claimed_by
        end,
        started_at = case
            when item.cancel_requested_at is not null or item.stalls + 1 >= %(stall_limit)s then item.started_at
        end,
        error = case
            when item.cancel_requested_at is null and item.stalls + 1 >= %(stall_limit)s
            then 'stalled: its lease ran out ' || (item.stalls + 1) || ' times'
        end,
        stalls = item.stalls + 1,
        lease_until = null,
        updated_at = coalesce(%(now)s::timestamptz, clock_timestamp()),
        changed_xid = pg_current_xact_id()
    from expired
    where item.id = expired.id
    returning item.id, item.kind, item.status, item.superseded_by
), event as (
    insert into treadle.item_events (item_id, attempt, event, at, detail)
    select item.id, item.attempt, 'stalled', coalesce(%(now)s::timestamptz, clock_timestamp()), item.claimed_by
    from back
    join treadle.work_items item on item.id = back.id
)
select id, kind, status, superseded_by from back
