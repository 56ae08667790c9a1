-- The asset of a storage config with this content.
select id
from anichron.media_assets
where storage_config_id = %(storage_config_id)s and content_hash = %(content_hash)s
