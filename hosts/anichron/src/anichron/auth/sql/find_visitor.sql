-- The user of a session that has not ended.
select u.id, u.username, u.email, u.is_admin
from anichron.users u
where u.id = %(user_id)s and u.disabled_at is null
    and exists (
        select from anichron.refresh_tokens t
        where t.family_id = %(family_id)s and t.user_id = u.id
            and t.revoked_at is null and t.expires_at > clock_timestamp()
    )
