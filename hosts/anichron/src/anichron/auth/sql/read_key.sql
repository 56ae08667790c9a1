-- The key that access tokens are signed with.
select secret from anichron.signing_key
