-- The workers that gave a sign of life lately.
select claimed_by, cardinality(running) as running, seen_at
from treadle.workers
where seen_at > clock_timestamp() - make_interval(secs => %(seconds)s)
order by claimed_by
