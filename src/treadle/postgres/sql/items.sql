-- Items, newest first, by keyset.
select id, kind, scope_id, requested_by, requested_at, status, attempt, stalls, claimed_by, started_at, lease_until,
       finished_at, updated_at, cancel_requested_at, progress_done, progress_total, progress_note, result, error,
       superseded_by, slot
from treadle.work_items
where (%(statuses)s::text[] is null or status = any(%(statuses)s::text[]))
  and (%(kinds)s::text[] is null or kind = any(%(kinds)s::text[]))
  and (%(scope_id)s::uuid is null or scope_id = %(scope_id)s::uuid)
  and (%(before)s::uuid is null or id < %(before)s::uuid)
order by id desc
limit %(limit)s
