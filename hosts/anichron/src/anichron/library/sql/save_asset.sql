-- Adds an asset, or brings the one with this content up to date; either way its id.
insert into anichron.media_assets (storage_config_id, content_hash, media_type, byte_size, blurhash)
values (%(storage_config_id)s, %(content_hash)s, %(media_type)s, %(byte_size)s, %(blurhash)s)
on conflict (storage_config_id, content_hash) do update
set media_type = excluded.media_type,
    byte_size = excluded.byte_size,
    blurhash = excluded.blurhash
returning id
