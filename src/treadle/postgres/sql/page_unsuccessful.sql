-- A page of failed or of cancelled items, newest first by id; looks at a bounded number of rows and says where it stopped.
with page as materialized (
    select *
    from (
        select id, kind, scope_id, requested_by, requested_at, status, attempt, stalls, claimed_by, started_at, lease_until,
           finished_at, updated_at, cancel_requested_at, progress_done, progress_total, progress_note, result, error,
           superseded_by, slot
        from treadle.work_items
        where status in ('failed', 'cancelled') and status = %(status)s
          and id < coalesce(%(below_id)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
        order by id desc
        limit %(walk)s
    ) walked
    where (%(kinds)s::text[] is null or kind = any(%(kinds)s::text[]))
      and (%(scope_id)s::uuid is null or scope_id = %(scope_id)s::uuid)
    limit %(limit)s
), stop as materialized (
    -- Only for a page that is not full.
    select id as stop_id, requested_at as stop_at
    from treadle.work_items
    where (select count(*) from page) < %(limit)s
      and status in ('failed', 'cancelled') and status = %(status)s
      and id < coalesce(%(below_id)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
    order by id desc
    offset %(walk)s - 1
    limit 1
)
select stop.*, page.*
from (select) one left join stop on true left join page on true
order by page.id desc
