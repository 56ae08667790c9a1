-- One user.
select id, username, email, is_admin, created_at, disabled_at
from anichron.users
where id = %(id)s
