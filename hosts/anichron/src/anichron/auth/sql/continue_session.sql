-- Issue the next refresh token of a session.
insert into anichron.refresh_tokens (user_id, token_hash, family_id, expires_at)
values (%(user_id)s, %(token_hash)s, %(family_id)s, clock_timestamp() + make_interval(secs => %(seconds)s))
