-- Publish an event, waiting until whoever publishes about the same aggregate has committed: positions follow commits.
with turn as materialized (
    select pg_advisory_xact_lock(hashtext('loryth.outbox'), hashtext(%(aggregate_type)s || '/' || %(aggregate_id)s))
)
insert into loryth.outbox (aggregate_type, aggregate_id, event_type, payload)
select %(aggregate_type)s, %(aggregate_id)s, %(event_type)s, %(payload)s
from turn
returning id
