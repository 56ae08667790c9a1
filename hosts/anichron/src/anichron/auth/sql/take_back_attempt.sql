-- Take back an attempt that succeeded.
update anichron.sign_in_attempts a
set count = a.count - 1
from (select key from anichron.sign_in_attempts where key = any(%(keys)s) order by key for update) mine
where a.key = mine.key and a.count > 0
