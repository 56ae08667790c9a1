-- Find deleted files whose object can be removed: those with an upload under way wait until it is aborted.
select id, object_key
from loryth.files
where status = 'DELETED' and upload_id is null and cleanup_after <= clock_timestamp()
order by cleanup_after
limit %(limit)s
