-- Find deleted files with an upload that the store still has.
select id, object_key, upload_id
from loryth.files
where status = 'DELETED' and upload_id is not null and cleanup_after <= clock_timestamp()
order by cleanup_after
limit %(limit)s
