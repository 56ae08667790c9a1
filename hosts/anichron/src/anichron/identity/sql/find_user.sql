-- The user of this name or email.
select id, username, is_admin
from anichron.users
where username = %(name)s or email = lower(%(name)s)
