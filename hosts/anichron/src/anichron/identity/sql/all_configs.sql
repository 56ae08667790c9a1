-- The storage configs of a user, or of everybody without one, inactive ones too.
select id, user_id, root_path, is_active
from anichron.storage_configs
where %(user_id)s::uuid is null or user_id = %(user_id)s::uuid
order by id
