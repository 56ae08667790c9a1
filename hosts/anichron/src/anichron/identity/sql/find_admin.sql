-- The first admin who can sign in.
select id, username, is_admin
from anichron.users
where is_admin and disabled_at is null
order by id
limit 1
