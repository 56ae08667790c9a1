-- Withdraw every refresh token of a user.
update anichron.refresh_tokens
set revoked_at = clock_timestamp()
where user_id = %(id)s and revoked_at is null
