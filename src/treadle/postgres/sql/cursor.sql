-- The snapshot of this moment, and the epoch in which its transaction ids count.
select pg_current_snapshot()::text as snapshot,
       -- Transaction ids go on counting only on the same server, and not over its crash: that resets the statistics.
       (select system_identifier from pg_control_system()) || '-'
       || case when pg_is_in_recovery() then 'standby' else left(pg_walfile_name(pg_current_wal_lsn()), 8) end || '-'
       || coalesce((select round(extract(epoch from stats_reset) * 1000000)::bigint from pg_stat_bgwriter), 0) as epoch,
       coalesce(%(now)s::timestamptz, clock_timestamp()) as at
