-- Say that a worker lives and what it runs, and forget those not seen for a day.
with gone as (
    delete from treadle.workers
    where seen_at < coalesce(%(now)s::timestamptz, clock_timestamp()) - interval '1 day'
      and claimed_by <> %(claimed_by)s
)
insert into treadle.workers (claimed_by, kinds, scopes, running, started_at, seen_at)
values (%(claimed_by)s, %(kinds)s, %(scopes)s, %(running)s,
        coalesce(%(now)s::timestamptz, clock_timestamp()), coalesce(%(now)s::timestamptz, clock_timestamp()))
on conflict (claimed_by) do update
set kinds = excluded.kinds, scopes = excluded.scopes, running = excluded.running, seen_at = excluded.seen_at
