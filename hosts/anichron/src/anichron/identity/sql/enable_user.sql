-- Let a user sign in again.
update anichron.users
set disabled_at = null
where id = %(id)s
