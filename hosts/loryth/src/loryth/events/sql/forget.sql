-- Remove some events that were done long ago; parked ones stay.
delete from loryth.outbox
where id in (
    select id
    from loryth.outbox
    where status = 'done' and finished_at <= clock_timestamp() - make_interval(secs => %(keep)s)
    order by finished_at
    limit %(limit)s
    for update skip locked
)
