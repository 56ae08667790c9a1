-- Whether a storage config has any file in the library.
select exists (select from anichron.media_files where storage_config_id = %(storage_config_id)s)
