-- Adds a file of an asset, or replaces what was known of the file at that path.
insert into anichron.media_files (storage_config_id, path, asset_id, role, byte_size, mtime_ns)
values (%(storage_config_id)s, %(path)s, %(asset_id)s, %(role)s, %(byte_size)s, %(mtime_ns)s)
on conflict (storage_config_id, path_key) do update
set asset_id = excluded.asset_id, role = excluded.role, byte_size = excluded.byte_size, mtime_ns = excluded.mtime_ns
