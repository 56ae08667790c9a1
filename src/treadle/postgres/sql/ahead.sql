-- How many queued items that the same workers may take were asked for before one; looks at a bounded number of rows.
select count(*) filter (
           where kind = any(%(kinds)s::text[])
             and (scope_id is null or %(scopes)s::uuid[] is null or scope_id = any(%(scopes)s::uuid[]))
       ) as count,
       count(*) < %(walk)s as exact
from (
    select kind, scope_id
    from treadle.work_items
    where status = 'queued' and finished_at is null
      and (requested_at, id) < (%(requested_at)s::timestamptz, %(id)s::uuid)
    order by requested_at desc, id desc
    limit %(walk)s
) nearest
