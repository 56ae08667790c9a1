-- Make sure of a storage config for a folder; answers with nothing when the folder is somebody else's.
insert into anichron.storage_configs (user_id, root_path)
values (%(user_id)s, %(root_path)s)
on conflict (root_path) do update set root_path = excluded.root_path
    where storage_configs.user_id = excluded.user_id
returning id, user_id, root_path, is_active
