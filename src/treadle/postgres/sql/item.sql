-- One item.
select id, kind, scope_id, requested_by, requested_at, status, attempt, stalls, claimed_by, started_at, lease_until,
       finished_at, updated_at, cancel_requested_at, progress_done, progress_total, progress_note, result, error,
       superseded_by, slot
from treadle.work_items
where id = %(id)s
