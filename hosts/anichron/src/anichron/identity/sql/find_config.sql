-- One storage config.
select id, user_id, root_path, is_active
from anichron.storage_configs
where id = %(id)s
