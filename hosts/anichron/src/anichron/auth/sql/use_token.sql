-- Use up a refresh token; nothing when it is unknown, expired, used before or its user disabled.
update anichron.refresh_tokens t
set revoked_at = clock_timestamp()
from anichron.users u
where t.token_hash = %(token_hash)s and t.revoked_at is null and t.expires_at > clock_timestamp()
    and u.id = t.user_id and u.disabled_at is null
returning t.user_id, t.family_id
