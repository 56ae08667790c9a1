-- Delete some refresh tokens that have expired; revoked ones stay until they expire too.
delete from anichron.refresh_tokens
where id in (
    select id
    from anichron.refresh_tokens
    where expires_at <= clock_timestamp()
    order by expires_at
    limit %(limit)s
    for update skip locked
)
