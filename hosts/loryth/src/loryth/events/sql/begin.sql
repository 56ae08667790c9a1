-- Count an attempt at the first waiting event of an aggregate, before it is made; park it when it has had its last.
-- A process that is lost in the middle has then counted it, and the event waits while others go on. Once an event
-- is its aggregate's first it stays that until it is finished: later ones get later positions.
update loryth.outbox
set attempts = attempts + (attempts < %(most_attempts)s)::integer,
    status = case when attempts < %(most_attempts)s then 'waiting' else 'parked' end,
    finished_at = case when attempts < %(most_attempts)s then null else clock_timestamp() end,
    try_after = clock_timestamp() + make_interval(secs => least(
        %(longest_wait)s::double precision, %(first_wait)s::double precision * 2 ^ least(attempts, 30)
    )),
    last_error = 'the worker ended, or lost the database, before its handler did'
where id = (
    select id
    from loryth.outbox
    where position = (
            select min(position)
            from loryth.outbox
            where aggregate_type = %(aggregate_type)s and aggregate_id = %(aggregate_id)s and status = 'waiting'
        )
        and status = 'waiting' and try_after <= clock_timestamp() and event_type = any(%(known)s)
    for update skip locked
)
returning id, aggregate_type, aggregate_id, event_type, payload, published_at, attempts as attempt, status = 'parked' as parked, last_error
