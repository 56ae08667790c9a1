-- Items whose lease ran out, by keyset; locks nothing: each is re-checked when it is taken back.
select id, attempt, dedup_key, stalls, started_at
from treadle.work_items
where status = 'running'
  and finished_at is null
  and lease_until < coalesce(%(now)s::timestamptz, clock_timestamp())
  and (started_at, id) > (%(after_at)s::timestamptz, %(after_id)s::uuid)
order by started_at, id
limit %(limit)s
