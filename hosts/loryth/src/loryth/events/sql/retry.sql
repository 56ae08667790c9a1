-- Publish a parked event anew, behind what its aggregate has published since.
with turn as materialized (
    select id, pg_advisory_xact_lock(hashtext('loryth.outbox'), hashtext(aggregate_type || '/' || aggregate_id))
    from loryth.outbox
    where id = %(id)s
)
update loryth.outbox
set position = default, status = 'waiting', finished_at = null, attempts = 0, try_after = clock_timestamp()
from turn
where outbox.id = turn.id and outbox.status = 'parked'
returning outbox.id
