-- Extend a lease and write the progress; says whether a cancel is asked for, no row when fenced off.
with done as (
    update treadle.work_items
    set lease_until = coalesce(%(now)s::timestamptz, clock_timestamp()) + make_interval(secs => %(lease)s),
        progress_done = %(done)s,
        progress_total = %(total)s,
        progress_note = %(note)s,
        updated_at = coalesce(%(now)s::timestamptz, clock_timestamp())
    where id = %(id)s
      and attempt = %(attempt)s
      and status = 'running'
    returning id, cancel_requested_at
), delivered as (
    insert into treadle.item_events (item_id, attempt, event, at, detail)
    select done.id, %(attempt)s, 'cancel_delivered', coalesce(%(now)s::timestamptz, clock_timestamp()), %(claimed_by)s
    from done
    where done.cancel_requested_at is not null
      and not exists (
          select from treadle.item_events event
          where event.item_id = done.id and event.attempt = %(attempt)s and event.event = 'cancel_delivered'
      )
), refused as (
    insert into treadle.item_events (item_id, attempt, event, at, detail)
    select item.id, %(attempt)s, 'refused', coalesce(%(now)s::timestamptz, clock_timestamp()), %(claimed_by)s
    from treadle.work_items item
    where item.id = %(id)s
      and not exists (select from done)
      -- A beat that arrives after our own end, or had to wait for it, is no zombie's write.
      and not (
          item.attempt = %(attempt)s
          and (item.status = 'running' or item.finished_at is not null and item.stalls = %(stalls)s)
      )
)
select cancel_requested_at is not null as cancel_requested from done
