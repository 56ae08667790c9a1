-- All workers seen lately, the latest first.
select claimed_by, kinds, scopes, running, started_at, seen_at from treadle.workers order by seen_at desc, claimed_by
