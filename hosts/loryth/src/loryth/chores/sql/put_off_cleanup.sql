-- Note that a file's removal from the store failed, and when to try again: after 1 minute, 2, 4, to a day.
update loryth.files
set cleanup_attempts = cleanup_attempts + 1,
    cleanup_error = %(error)s,
    cleanup_after = clock_timestamp() + make_interval(secs => least(86400, 60 * 2 ^ least(cleanup_attempts, 20)))
where id = %(id)s and status = 'DELETED'
