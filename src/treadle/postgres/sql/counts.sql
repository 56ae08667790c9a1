-- How many items are in each status.
select status, count(*) from treadle.work_items group by status
