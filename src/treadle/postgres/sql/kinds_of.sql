-- The kinds of some items.
select id, kind from treadle.work_items where id = any(%(ids)s::uuid[])
