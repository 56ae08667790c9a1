-- Replace a user's hash by another of the same password, unless the password was changed meanwhile.
update anichron.users
set password_hash = %(new)s
where id = %(id)s and password_hash = %(old)s
