-- End an item that cannot return to the queue because a twin waits there: the twin takes over its stalls.
with back as (
    select id, attempt, kind, stalls, claimed_by
    from treadle.work_items
    where id = %(id)s
      and attempt = %(attempt)s
      and status = 'running'
      and (not %(expired)s or lease_until < coalesce(%(now)s::timestamptz, clock_timestamp()))
    for no key update skip locked
), twin as (
    select item.id
    from treadle.work_items item
    where item.dedup_key = %(dedup_key)s
      -- Queued, in words for which only work_items_key can be taken: it finds the few unfinished ones of a key.
      and item.finished_at is null
      and item.lease_until is null
      and exists (select from back)
    for no key update skip locked
), heir as (
    update treadle.work_items item
    set stalls = greatest(item.stalls, back.stalls + %(stall)s),
        updated_at = coalesce(%(now)s::timestamptz, clock_timestamp()),
        changed_xid = pg_current_xact_id()
    from back, twin
    where item.id = twin.id
    returning item.id
), ended as (
    update treadle.work_items item
    set status = 'cancelled',
        superseded_by = heir.id,
        stalls = item.stalls + %(stall)s,
        finished_at = coalesce(%(now)s::timestamptz, clock_timestamp()),
        lease_until = null,
        progress_done = coalesce(%(done)s, item.progress_done),
        progress_total = coalesce(%(total)s, item.progress_total),
        progress_note = coalesce(%(note)s, item.progress_note),
        updated_at = coalesce(%(now)s::timestamptz, clock_timestamp()),
        changed_xid = pg_current_xact_id()
    from heir
    where item.id = %(id)s
    returning item.id, item.kind, item.status, item.superseded_by
), events as (
    insert into treadle.item_events (item_id, attempt, event, at, detail)
    select back.id, back.attempt, happened.event, coalesce(%(now)s::timestamptz, clock_timestamp()), happened.detail
    from back, ended, lateral (
        values (1, case when %(expired)s then 'stalled' else 'released' end, back.claimed_by),
               (2, 'superseded', ended.superseded_by::text)
    ) as happened (place, event, detail)
    order by happened.place
)
select id, kind, status, superseded_by from ended
