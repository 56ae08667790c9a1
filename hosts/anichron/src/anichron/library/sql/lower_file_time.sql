-- Moves an asset's capture time back to that of an older file, if it comes from a file at all.
update anichron.metadata
set captured_at = %(file_time)s
where asset_id = %(asset_id)s and captured_from = 'file' and captured_at > %(file_time)s
