-- Let whatever ends or continues sessions of a token's user happen one after the other.
select u.id
from anichron.users u
join anichron.refresh_tokens t on t.user_id = u.id
where t.token_hash = %(token_hash)s
for no key update of u
