-- The workers that gave a sign of life lately, the latest first.
select claimed_by, kinds, scopes, running, started_at, seen_at
from treadle.workers
where seen_at > coalesce(%(now)s::timestamptz, clock_timestamp()) - make_interval(secs => %(seen_within)s)
order by seen_at desc, claimed_by
