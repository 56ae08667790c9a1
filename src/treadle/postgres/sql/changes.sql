-- Items that changed and items that were deleted since a cursor, and all that run, as of one snapshot.
with moment as materialized (
    select pg_current_snapshot() as snapshot,
           -- Transaction ids go on counting only on the same server, and not over its crash: that resets the statistics.
           (select system_identifier from pg_control_system()) || '-'
           || case when pg_is_in_recovery() then 'standby' else left(pg_walfile_name(pg_current_wal_lsn()), 8) end || '-'
           || coalesce((select round(extract(epoch from stats_reset) * 1000000)::bigint from pg_stat_bgwriter), 0) as epoch,
           coalesce(%(now)s::timestamptz, clock_timestamp()) as at
), since as materialized (
    -- On a standby a snapshot does not list what was going on: all from its xmin on may be new.
    select case when pg_snapshot_xmin(given.snapshot) < pg_snapshot_xmax(given.snapshot) and under_way.xids = '{}'
                then pg_snapshot_xmin(given.snapshot) else pg_snapshot_xmax(given.snapshot) end as first,
           pg_snapshot_xmax(moment.snapshot) as beyond,
           under_way.xids
    from moment
    join (select %(snapshot)s::pg_snapshot as snapshot) given
        on %(epoch)s = moment.epoch and pg_snapshot_xmax(given.snapshot) <= pg_snapshot_xmax(moment.snapshot)
    cross join lateral (select array(select pg_snapshot_xip(given.snapshot)) as xids) under_way
), later as materialized (
    select id, kind, scope_id, requested_by, requested_at, status, attempt, stalls, claimed_by, started_at,
           lease_until, finished_at, updated_at, cancel_requested_at, progress_done, progress_total, progress_note,
           result, error, superseded_by, slot
    from treadle.work_items item
    where changed_xid >= (select first from since) and changed_xid < (select beyond from since)
    limit %(limit)s + 1
), late as materialized (
    -- What was going on then and has been committed now.
    select id, kind, scope_id, requested_by, requested_at, status, attempt, stalls, claimed_by, started_at,
           lease_until, finished_at, updated_at, cancel_requested_at, progress_done, progress_total, progress_note,
           result, error, superseded_by, slot
    from treadle.work_items item
    where changed_xid = any((select xids from since)::xid8[])
    limit %(limit)s + 1
), running as materialized (
    select id, kind, scope_id, requested_by, requested_at, status, attempt, stalls, claimed_by, started_at,
           lease_until, finished_at, updated_at, cancel_requested_at, progress_done, progress_total, progress_note,
           result, error, superseded_by, slot
    from treadle.work_items item
    where status = 'running' and finished_at is null
    order by started_at, id
    limit %(limit)s + 1
), deleted as (
    select unnest(item_ids) as id
    from treadle.tombstones
    where changed_xid >= (select first from since) and changed_xid < (select beyond from since)
       or changed_xid = any((select xids from since)::xid8[])
    limit %(limit)s + 1
), found as materialized (
    select 'changed' as what, later.* from later
    union all
    select 'changed', late.* from late
), weight as materialized (
    select coalesce(sum(pg_column_size(result)), 0) > %(bytes)s as heavy from found
)
select moment.epoch, moment.snapshot::text as snapshot, moment.at, exists (select from since) as known, weight.heavy,
       case when row_number() over () = 1 then array(select id from deleted) else '{}' end as gone,
       told.*
from moment cross join weight left join (
    select found.* from found, weight where not weight.heavy
    union all
    select 'running', running.* from running
) told on true
