-- The exceptional in one item's life, oldest first.
select item_id, attempt, event, at, detail
from treadle.item_events
where item_id = %(item_id)s
order by id
