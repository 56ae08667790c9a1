-- Delete some spaces that have been closed for as long as their owners may open them again.
update loryth.spaces
set status = 'DELETED'
where id in (
    select id
    from loryth.spaces
    where status = 'CLOSED' and closed_at <= clock_timestamp() - make_interval(secs => %(grace)s)
    order by closed_at
    limit %(limit)s
    for update skip locked
)
returning id
