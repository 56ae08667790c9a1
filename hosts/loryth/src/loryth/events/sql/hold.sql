-- Lock an event for its handler, unless another attempt at it has been begun since.
select id
from loryth.outbox
where id = %(id)s and attempts = %(attempt)s and status = 'waiting'
for update
