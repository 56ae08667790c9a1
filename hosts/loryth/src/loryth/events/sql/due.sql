-- Find aggregates whose first waiting event can be handled now, the longest waiting first.
select aggregate_type, aggregate_id
from (
    select distinct on (aggregate_type, aggregate_id) aggregate_type, aggregate_id, event_type, position, try_after
    from loryth.outbox
    where status = 'waiting'
    order by aggregate_type, aggregate_id, position
) heads
where try_after <= clock_timestamp() and event_type = any(%(known)s)
order by position
limit %(limit)s
