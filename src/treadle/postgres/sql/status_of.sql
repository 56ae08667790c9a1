-- The status of an item, by a statement of its own: it sees what an earlier one had to wait for.
select status from treadle.work_items where id = %(id)s
