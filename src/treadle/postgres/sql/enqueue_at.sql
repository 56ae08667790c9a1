-- The same as enqueue.sql at a given time; the API role may not use it.
insert into treadle.work_items (kind, payload, scope_id, dedup_key, requested_by, requested_at, updated_at)
values (%(kind)s, %(payload)s::jsonb, %(scope_id)s, %(dedup_key)s, %(requested_by)s,
        %(now)s::timestamptz, %(now)s::timestamptz)
on conflict (dedup_key) where status = 'queued' and dedup_key is not null do nothing
returning id
