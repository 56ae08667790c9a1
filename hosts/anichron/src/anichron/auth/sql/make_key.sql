-- Keep a key for access tokens unless there is one.
insert into anichron.signing_key (secret) values (%(secret)s) on conflict do nothing
