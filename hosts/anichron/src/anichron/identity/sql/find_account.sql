-- What signing in needs of the user of this name or email.
select id, password_hash
from anichron.users
where (username = %(name)s or email = lower(%(name)s)) and disabled_at is null
