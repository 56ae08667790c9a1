-- Note that an event has been handled, in the transaction of its handler.
update loryth.outbox
set status = 'done', finished_at = clock_timestamp(), last_error = null
where id = %(id)s
