-- Adds an asset's proxy, or replaces what is known of it.
insert into anichron.proxy_files (asset_id, variant, path, width, height, byte_size)
values (%(asset_id)s, %(variant)s, %(path)s, %(width)s, %(height)s, %(byte_size)s)
on conflict (asset_id, variant) do update
set path = excluded.path, width = excluded.width, height = excluded.height, byte_size = excluded.byte_size
