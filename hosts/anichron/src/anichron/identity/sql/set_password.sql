-- Give a user another password.
update anichron.users
set password_hash = %(password_hash)s
where id = %(id)s
