-- The time that the next statements take for now.
select coalesce(%(now)s::timestamptz, clock_timestamp()) as now
