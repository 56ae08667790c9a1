-- End one attempt; no row comes back when the attempt no longer holds its item.
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
)
select id from done
