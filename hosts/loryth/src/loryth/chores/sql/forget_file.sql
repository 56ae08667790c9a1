-- Remove the row of a deleted file whose object is gone.
delete from loryth.files
where id = %(id)s and status = 'DELETED' and upload_id is null
