-- Let new folders be compared with all others one after the other.
select pg_advisory_xact_lock(hashtextextended('anichron.storage_configs', 0))
