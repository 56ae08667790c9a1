-- Begin a session of a user whose password was verified just now; nothing if it was changed or the user disabled meanwhile.
with owner as (
    select id
    from anichron.users
    where id = %(user_id)s and password_hash = %(password_hash)s and disabled_at is null
    for no key update
)
insert into anichron.refresh_tokens (user_id, token_hash, family_id, expires_at)
select id, %(token_hash)s, gen_random_uuid(), clock_timestamp() + make_interval(secs => %(seconds)s)
from owner
returning user_id, family_id
