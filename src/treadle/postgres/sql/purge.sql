-- Delete items finished long ago, but of each key of a periodic kind keep the newest finished one and the newest slot's.
delete from treadle.work_items
where id = any(array(
    select old.id
    from treadle.work_items old
    -- Selected, so that it is one value and not a volatile call: else no index can be searched by it.
    where old.finished_at < (
              select coalesce(%(now)s::timestamptz, clock_timestamp()) - make_interval(secs => %(older_than)s)
          )
      and (
          old.dedup_key is null
          or old.kind <> all(%(periodic_kinds)s::text[])
          or exists (
              -- In the order of the due-ness probe; a finish in the future was written by a wrong clock.
              select from treadle.work_items newer
              where newer.dedup_key = old.dedup_key
                and newer.finished_at <= (select coalesce(%(now)s::timestamptz, clock_timestamp()))
                and (newer.finished_at, newer.id) > (old.finished_at, old.id)
          )
          -- Its slot may be the newest although a request by hand finished after it.
          and (
              old.slot is null
              or old.slot > (select coalesce(%(now)s::timestamptz, clock_timestamp()))
              or exists (
                  select from treadle.work_items later
                  where later.dedup_key = old.dedup_key
                    and later.slot > old.slot
                    and later.slot <= (select coalesce(%(now)s::timestamptz, clock_timestamp()))
              )
          )
      )
    order by old.finished_at, old.id
    limit %(limit)s
))
