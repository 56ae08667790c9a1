-- The same as cancel.sql at a given time; the API role may not use it.
select treadle.cancel_work_item(%(id)s, %(now)s::timestamptz) as status
