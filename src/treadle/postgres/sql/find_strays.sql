-- Items claimed for a worker a while ago that it does not hold: the reply to the claim was lost.
select id, attempt, dedup_key, stalls
from treadle.work_items
where status = 'running'
  and finished_at is null
  and claimed_by = %(claimed_by)s
  and started_at < coalesce(%(now)s::timestamptz, clock_timestamp()) - make_interval(secs => %(older_than)s)
  and id <> all(%(held)s::uuid[])
order by started_at, id
