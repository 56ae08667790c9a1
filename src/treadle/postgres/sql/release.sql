-- Hand an item back, stalls unchanged; a pending cancel request ends it instead. No row when fenced off.
with back as (
    update treadle.work_items
    set status = case when cancel_requested_at is not null then 'cancelled' else 'queued' end,
        finished_at = case
            when cancel_requested_at is not null then coalesce(%(now)s::timestamptz, clock_timestamp())
        end,
        claimed_by = case when cancel_requested_at is not null then claimed_by end,
        started_at = case when cancel_requested_at is not null then started_at end,
        lease_until = null,
        progress_done = coalesce(%(done)s, progress_done),
        progress_total = coalesce(%(total)s, progress_total),
        progress_note = coalesce(%(note)s, progress_note),
        updated_at = coalesce(%(now)s::timestamptz, clock_timestamp()),
        changed_xid = pg_current_xact_id()
    where id = %(id)s
      and attempt = %(attempt)s
      and status = 'running'
    returning id, kind, status, superseded_by
), event as (
    insert into treadle.item_events (item_id, attempt, event, at, detail)
    select item.id, item.attempt, 'released', coalesce(%(now)s::timestamptz, clock_timestamp()), item.claimed_by
    from back
    join treadle.work_items item on item.id = back.id
), refused as (
    insert into treadle.item_events (item_id, attempt, event, at, detail)
    select item.id, %(attempt)s, 'refused', coalesce(%(now)s::timestamptz, clock_timestamp()), %(claimed_by)s
    from treadle.work_items item
    where item.id = %(id)s
      and not exists (select from back)
      and not (
          item.attempt = %(attempt)s
          and (item.status = 'running' or item.finished_at is not null and item.stalls = %(stalls)s)
      )
)
select id, kind, status, superseded_by from back
