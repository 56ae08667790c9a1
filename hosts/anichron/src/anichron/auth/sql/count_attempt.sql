-- Count an attempt to sign in under each key; what was counted so far, and the seconds until it starts anew.
insert into anichron.sign_in_attempts as a (key, count, until)
select key, 1, clock_timestamp() + make_interval(secs => %(seconds)s)
from unnest(%(keys)s::bytea[]) key
order by key
on conflict (key) do update set
    count = case when a.until > clock_timestamp() then a.count + 1 else 1 end,
    until = case when a.until > clock_timestamp() then a.until else excluded.until end
returning key, count, extract(epoch from until - clock_timestamp())::float
