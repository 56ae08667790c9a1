-- Add a user; answers with nothing when the name or the address is taken.
insert into anichron.users (username, email, password_hash, is_admin)
values (%(username)s, lower(%(email)s), %(password_hash)s, %(is_admin)s)
on conflict do nothing
returning id, username, is_admin
