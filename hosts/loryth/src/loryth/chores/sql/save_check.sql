-- Save what a check of a plugin found, unless its address has changed since.
update loryth.plugins
set is_healthy = %(is_healthy)s, http_status = %(http_status)s, took_seconds = %(took_seconds)s, error = %(error)s,
    checked_at = clock_timestamp()
where id = %(id)s and health_url = %(health_url)s
