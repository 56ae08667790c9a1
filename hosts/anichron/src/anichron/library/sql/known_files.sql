-- Those of the given paths that a storage config has files for, as they were last read.
select path, asset_id, byte_size, mtime_ns
from anichron.media_files
where storage_config_id = %(storage_config_id)s
    and path_key in (select md5(given)::uuid from unnest(%(paths)s::text[]) as given)
