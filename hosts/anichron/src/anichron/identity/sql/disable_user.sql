-- Keep a user out.
update anichron.users
set disabled_at = coalesce(disabled_at, clock_timestamp())
where id = %(id)s
