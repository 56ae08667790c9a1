-- Every user, by name.
select id, username, email, is_admin, created_at, disabled_at
from anichron.users
order by username
