-- Mark some files as deleted whose upload was begun long ago and never completed.
update loryth.files
set status = 'DELETED', cleanup_after = clock_timestamp()
where id in (
    select id
    from loryth.files
    where status = 'UPLOADING' and created_at <= clock_timestamp() - make_interval(secs => %(age)s)
    order by created_at
    limit %(limit)s
    for update skip locked
)
