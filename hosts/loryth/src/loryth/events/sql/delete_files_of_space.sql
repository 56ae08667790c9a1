-- Mark some files of a space as deleted.
update loryth.files
set status = 'DELETED', cleanup_after = clock_timestamp()
where id in (
    select id
    from loryth.files
    where space_id = %(space_id)s and status <> 'DELETED'
    limit %(limit)s
    for update
)
