-- The first events of a status, in the order of their publication.
select id, aggregate_type, aggregate_id, event_type, published_at, attempts, last_error
from loryth.outbox
where status = %(status)s
order by position
limit %(limit)s
