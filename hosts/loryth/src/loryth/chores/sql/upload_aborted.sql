-- Note that the store no longer has a deleted file's upload; its object can be removed now.
update loryth.files
set upload_id = null, cleanup_after = clock_timestamp()
where id = %(id)s and upload_id = %(upload_id)s and status = 'DELETED'
