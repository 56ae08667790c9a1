-- A page of running items, newest first by id, out of the last started ones.
select *, null::uuid as stop_id, null::timestamptz as stop_at
from (
    select id, kind, scope_id, requested_by, requested_at, status, attempt, stalls, claimed_by, started_at, lease_until,
           finished_at, updated_at, cancel_requested_at, progress_done, progress_total, progress_note, result, error,
           superseded_by, slot
    from treadle.work_items
    where status = 'running' and finished_at is null
    order by started_at desc, id desc
    limit %(walk)s
) walked
where (%(below_id)s::uuid is null or id < %(below_id)s::uuid)
  and (%(kinds)s::text[] is null or kind = any(%(kinds)s::text[]))
  and (%(scope_id)s::uuid is null or scope_id = %(scope_id)s::uuid)
order by id desc
limit %(limit)s
