-- The active storage configs of a user, or of everybody without one.
select id, user_id, root_path, is_active
from anichron.storage_configs
where is_active and (%(user_id)s::uuid is null or user_id = %(user_id)s::uuid)
order by id
