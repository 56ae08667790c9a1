-- Withdraw every token of the session that a refresh token belongs to.
update anichron.refresh_tokens
set revoked_at = clock_timestamp()
where revoked_at is null
    and family_id = (select family_id from anichron.refresh_tokens where token_hash = %(token_hash)s)
