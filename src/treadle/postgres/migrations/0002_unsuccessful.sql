-- Lists and counts of what did not succeed: few rows among many, written only when an item ends so.

create index work_items_unsuccessful on treadle.work_items (status, id)
    where status in ('failed', 'cancelled');
