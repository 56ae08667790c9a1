-- How much is waiting and since when, what nobody here handles, and how many are parked.
select count(*) as waiting,
    extract(epoch from clock_timestamp() - min(published_at))::double precision as oldest_seconds,
    coalesce(array_agg(distinct event_type) filter (where event_type <> all(%(known)s)), '{}') as unknown_types,
    (select count(*) from loryth.outbox where status = 'parked') as parked
from loryth.outbox
where status = 'waiting'
