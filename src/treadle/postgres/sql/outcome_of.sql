-- The status of an item whose latest attempt is this one.
select status from treadle.work_items where id = %(id)s and attempt = %(attempt)s
