-- Queue an item, unless one of its dedup key is queued already: then no row comes back.
insert into treadle.work_items (kind, payload, scope_id, dedup_key, requested_by)
values (%(kind)s, %(payload)s::jsonb, %(scope_id)s, %(dedup_key)s, %(requested_by)s)
on conflict (dedup_key) where status = 'queued' and dedup_key is not null do nothing
returning id
