-- Delete a storage config, and with it its part of the library and its work items.
delete from anichron.storage_configs where id = %(id)s
