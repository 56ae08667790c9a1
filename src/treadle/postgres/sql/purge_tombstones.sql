-- Forget tombstones that no open view needs any more.
delete from treadle.tombstones where deleted_at < clock_timestamp() - make_interval(secs => %(older_than)s)
