-- Which of these uploads some file has, so that they are no orphans.
select upload_id
from loryth.files
where upload_id = any(%(upload_ids)s)
