-- Find the enabled plugins whose last check is the longest ago.
select id, name, health_url
from loryth.plugins
where is_enabled
order by checked_at nulls first, id
limit %(limit)s
