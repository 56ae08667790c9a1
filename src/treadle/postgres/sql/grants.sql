-- Rights of the two sides, for psql: \set api_role name, \set worker_role name. The API asks and cancels; the Worker does the rest.
grant usage on schema treadle to :"api_role", :"worker_role";
grant select on treadle.work_items, treadle.item_events, treadle.workers, treadle.tombstones, treadle.migrations
    to :"api_role", :"worker_role";
grant insert (kind, payload, scope_id, dedup_key, requested_by) on treadle.work_items to :"api_role";
grant execute on function treadle.hold_queued_twin(text), treadle.cancel_work_item(uuid) to :"api_role", :"worker_role";
grant insert, update, delete on treadle.work_items, treadle.item_events, treadle.workers, treadle.tombstones to :"worker_role";
grant select, insert, update on treadle.cron_keys to :"worker_role";
grant execute on function treadle.cancel_work_item(uuid, timestamptz) to :"worker_role";
