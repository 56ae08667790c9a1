-- How many items are in each status: exact up to a cap, beyond that estimated from the planner's statistics.
with small as materialized (
    -- The whole table, if it is no larger than one may count.
    select status from treadle.work_items order by id desc limit %(cap)s + 1
), whole as materialized (
    select count(*) <= %(cap)s as counted from small
), capped as (
    -- In the order of an index, or the planner may look for them anywhere.
    select 'queued' as status, count(*) as count
    from (select from treadle.work_items where status = 'queued' and finished_at is null
          order by requested_at, id limit %(cap)s + 1) few
    union all
    select 'running', count(*)
    from (select from treadle.work_items where status = 'running' and finished_at is null
          order by started_at, id limit %(cap)s + 1) few
    union all
    select 'failed', count(*)
    from (
        select from treadle.work_items
        where status in ('failed', 'cancelled') and status = 'failed'
        order by id limit %(cap)s + 1
    ) few
    union all
    select 'cancelled', count(*)
    from (
        select from treadle.work_items
        where status in ('failed', 'cancelled') and status = 'cancelled'
        order by id limit %(cap)s + 1
    ) few
), statistics as materialized (
    -- As the planner does: the density it knows, on the pages there are now.
    select pg_relation_size(oid) / current_setting('block_size')::int
           * case when reltuples > 0 and relpages > 0 then reltuples / relpages else 20 end as rows
    from pg_class where oid = 'treadle.work_items'::regclass
), shares as materialized (
    select shared.status, shared.share
    from pg_stats stats,
         unnest(stats.most_common_vals::text::text[], stats.most_common_freqs) as shared (status, share)
    where stats.schemaname = 'treadle' and stats.tablename = 'work_items' and stats.attname = 'status'
), estimated as (
    select capped.status,
           case when capped.count <= %(cap)s then capped.count
                else greatest(capped.count, coalesce(shares.share * statistics.rows, 0))::bigint end as count,
           capped.count <= %(cap)s as exact
    from capped cross join statistics left join shares on shares.status = capped.status
)
select found.status, found.count, found.exact, coalesce(%(now)s::timestamptz, clock_timestamp()) as as_of
from whole
cross join lateral (
    select status, count(*) as count, true as exact from small where whole.counted group by status
    union all
    select status, count, exact from estimated where not whole.counted
    union all
    select 'succeeded', greatest(statistics.rows - (select sum(count) from estimated), 0)::bigint, false
    from statistics where not whole.counted
) found
union all
select null, 0, true, coalesce(%(now)s::timestamptz, clock_timestamp())
