-- Have a storage config served by workers, or not.
update anichron.storage_configs
set is_active = %(is_active)s
where id = %(id)s
returning id, user_id, root_path, is_active
