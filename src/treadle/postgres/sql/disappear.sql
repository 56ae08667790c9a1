-- Take a worker's row away at its graceful end.
delete from treadle.workers where claimed_by = %(claimed_by)s
