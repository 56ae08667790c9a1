-- Make sure of a storage config for a folder; answers with nothing when the folder is somebody else's, or in or around one.
insert into anichron.storage_configs (user_id, root_path)
select %(user_id)s, %(root_path)s
where not exists (
    select
    from anichron.storage_configs o
    where o.user_id <> %(user_id)s
        and (
            starts_with(rtrim(%(root_path)s, '/') || '/', rtrim(o.root_path, '/') || '/')
            or starts_with(rtrim(o.root_path, '/') || '/', rtrim(%(root_path)s, '/') || '/')
        )
)
on conflict (root_path) do update set root_path = excluded.root_path
    where storage_configs.user_id = excluded.user_id
returning id, user_id, root_path, is_active
