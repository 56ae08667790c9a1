-- Note what an attempt failed with, and park the event when it was the last.
update loryth.outbox
set last_error = %(error)s,
    status = case when attempts < %(most_attempts)s then 'waiting' else 'parked' end,
    finished_at = case when attempts < %(most_attempts)s then null else clock_timestamp() end
where id = %(id)s
returning status = 'parked' as parked
