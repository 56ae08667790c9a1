-- The schema that the migrations in src/treadle/postgres/migrations lead to. Made by docs/schema.py; do not edit.

CREATE SCHEMA treadle;

CREATE FUNCTION treadle.bury_work_items() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'treadle'
    AS $$
begin
    insert into treadle.tombstones (item_ids) select array_agg(id) from deleted having count(*) > 0;
    delete from treadle.item_events event using deleted where event.item_id = deleted.id;
    return null;
end $$;

COMMENT ON FUNCTION treadle.bury_work_items() IS 'Leaves one tombstone per deleting statement, cascades included, and takes the items'' events away.';

CREATE FUNCTION treadle.cancel_work_item(item uuid) RETURNS text
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'treadle'
    AS $$
    select treadle.cancel_work_item(cancel_work_item.item, null)
$$;

COMMENT ON FUNCTION treadle.cancel_work_item(item uuid) IS 'The one change of an item that the API side may make; runs with the owner''s rights.';

CREATE FUNCTION treadle.cancel_work_item(item uuid, at timestamp with time zone) RETURNS text
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'treadle'
    AS $$
    update treadle.work_items
    set status = case when status = 'queued' then 'cancelled' else status end,
        finished_at = case when status = 'queued' then coalesce(cancel_work_item.at, clock_timestamp()) end,
        cancel_requested_at = coalesce(cancel_requested_at, cancel_work_item.at, clock_timestamp()),
        updated_at = coalesce(cancel_work_item.at, clock_timestamp()),
        changed_xid = pg_current_xact_id()
    where id = cancel_work_item.item and finished_at is null
    returning status
$$;

COMMENT ON FUNCTION treadle.cancel_work_item(item uuid, at timestamp with time zone) IS 'Ends a queued item as cancelled or asks a running one to stop; the new status, or null when it had ended or is unknown.';

CREATE FUNCTION treadle.hold_queued_twin(key text) RETURNS TABLE(id uuid, kind text, scope_id uuid, payload jsonb)
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'treadle'
    AS $$
    select item.id, item.kind, item.scope_id, item.payload
    from treadle.work_items item
    -- Queued, in words for which only work_items_key can be taken: it finds the few unfinished ones of a key.
    where item.dedup_key = hold_queued_twin.key and item.finished_at is null and item.lease_until is null
    for key share
$$;

COMMENT ON FUNCTION treadle.hold_queued_twin(key text) IS 'The queued item of a dedup key, kept from being claimed until the caller''s transaction ends: its run must see the caller''s changes.';

CREATE FUNCTION treadle.new_id() RETURNS uuid
    LANGUAGE sql PARALLEL SAFE
    RETURN (encode(set_bit(set_bit(OVERLAY(uuid_send(gen_random_uuid()) PLACING SUBSTRING(int8send(((EXTRACT(epoch FROM clock_timestamp()) * (1000)::numeric))::bigint) FROM 3) FROM 1 FOR 6), (52)::bigint, 1), (53)::bigint, 1), 'hex'::text))::uuid;

COMMENT ON FUNCTION treadle.new_id() IS 'A new uuid v7: ids sort by the time they were made, to the millisecond.';

CREATE TABLE treadle.cron_keys (
    dedup_key text NOT NULL,
    first_seen timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

COMMENT ON TABLE treadle.cron_keys IS 'When each key of a cron schedule was first seen: earlier slots are not made up for.';

COMMENT ON COLUMN treadle.cron_keys.dedup_key IS 'As in work_items.dedup_key.';

COMMENT ON COLUMN treadle.cron_keys.first_seen IS 'Only later slots are due.';

CREATE TABLE treadle.item_events (
    id bigint NOT NULL,
    item_id uuid NOT NULL,
    attempt integer NOT NULL,
    event text NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    detail text,
    CONSTRAINT item_events_event_check CHECK ((event = ANY (ARRAY['stalled'::text, 'released'::text, 'refused'::text, 'cancel_delivered'::text, 'superseded'::text])))
);

COMMENT ON TABLE treadle.item_events IS 'The exceptional in an item''s life, written by the statement that did or refused it.';

COMMENT ON COLUMN treadle.item_events.id IS 'Order of writing.';

COMMENT ON COLUMN treadle.item_events.item_id IS 'The item; its events go when it goes.';

COMMENT ON COLUMN treadle.item_events.attempt IS 'The attempt that stalled, was released, or whose write was refused.';

COMMENT ON COLUMN treadle.item_events.event IS 'stalled, released, refused, cancel_delivered or superseded.';

COMMENT ON COLUMN treadle.item_events.at IS 'When.';

COMMENT ON COLUMN treadle.item_events.detail IS 'The worker or item that the event is about.';

ALTER TABLE treadle.item_events ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME treadle.item_events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE treadle.migrations (
    version integer NOT NULL,
    name text NOT NULL,
    applied_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

COMMENT ON TABLE treadle.migrations IS 'The numbered migrations applied to this schema.';

CREATE TABLE treadle.tombstones (
    changed_xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    deleted_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    item_ids uuid[] NOT NULL
);

COMMENT ON TABLE treadle.tombstones IS 'Items deleted a short while ago, for open live views.';

COMMENT ON COLUMN treadle.tombstones.changed_xid IS 'The deleting transaction.';

COMMENT ON COLUMN treadle.tombstones.deleted_at IS 'When; tombstones are purged soon after.';

COMMENT ON COLUMN treadle.tombstones.item_ids IS 'The items that one statement deleted.';

CREATE TABLE treadle.work_items (
    id uuid DEFAULT treadle.new_id() NOT NULL,
    kind text NOT NULL,
    payload jsonb DEFAULT '{}'::jsonb NOT NULL,
    scope_id uuid,
    dedup_key text,
    requested_by text,
    requested_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    status text DEFAULT 'queued'::text NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    stalls integer DEFAULT 0 NOT NULL,
    claimed_by text,
    started_at timestamp with time zone,
    lease_until timestamp with time zone,
    finished_at timestamp with time zone,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    cancel_requested_at timestamp with time zone,
    progress_done bigint,
    progress_total bigint,
    progress_note text,
    result jsonb,
    error text,
    follows uuid,
    superseded_by uuid,
    changed_xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    slot timestamp with time zone,
    CONSTRAINT error_exactly_when_failed CHECK (((status = 'failed'::text) = (error IS NOT NULL))),
    CONSTRAINT finished_exactly_when_terminal CHECK (((status = ANY (ARRAY['succeeded'::text, 'failed'::text, 'cancelled'::text])) = (finished_at IS NOT NULL))),
    CONSTRAINT held_by_nobody_when_queued CHECK (((status <> 'queued'::text) OR ((claimed_by IS NULL) AND (started_at IS NULL)))),
    CONSTRAINT held_by_somebody_when_running CHECK (((status <> 'running'::text) OR ((claimed_by IS NOT NULL) AND (started_at IS NOT NULL) AND (attempt > 0)))),
    CONSTRAINT leased_exactly_when_running CHECK (((status = 'running'::text) = (lease_until IS NOT NULL))),
    CONSTRAINT result_only_of_succeeded_or_cancelled CHECK (((result IS NULL) OR (status = ANY (ARRAY['succeeded'::text, 'cancelled'::text])))),
    CONSTRAINT superseded_only_when_cancelled CHECK (((superseded_by IS NULL) OR (status = 'cancelled'::text))),
    CONSTRAINT work_items_attempt_check CHECK ((attempt >= 0)),
    CONSTRAINT work_items_dedup_key_check CHECK ((dedup_key <> ''::text)),
    CONSTRAINT work_items_kind_check CHECK ((kind <> ''::text)),
    CONSTRAINT work_items_payload_check CHECK ((jsonb_typeof(payload) = 'object'::text)),
    CONSTRAINT work_items_progress_done_check CHECK ((progress_done >= 0)),
    CONSTRAINT work_items_progress_total_check CHECK ((progress_total >= 0)),
    CONSTRAINT work_items_stalls_check CHECK ((stalls >= 0)),
    CONSTRAINT work_items_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'cancelled'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='500', autovacuum_analyze_scale_factor='0.02');

COMMENT ON TABLE treadle.work_items IS 'One row per request for work, and its outcome.';

COMMENT ON COLUMN treadle.work_items.id IS 'uuid v7; sorts by the time of the request.';

COMMENT ON COLUMN treadle.work_items.kind IS 'Stable name of what is to be done; bound to one payload type and one handler.';

COMMENT ON COLUMN treadle.work_items.payload IS 'Typed arguments of the kind, a JSON object. Never shown to admins.';

COMMENT ON COLUMN treadle.work_items.scope_id IS 'Routes the item to the workers that serve this scope; null: any worker. Hosts tie it to their own table.';

COMMENT ON COLUMN treadle.work_items.dedup_key IS 'At most one queued item per key; null never coalesces.';

COMMENT ON COLUMN treadle.work_items.requested_by IS 'Who asked; null: the scheduler.';

COMMENT ON COLUMN treadle.work_items.requested_at IS 'When it was asked for; items are claimed in this order.';

COMMENT ON COLUMN treadle.work_items.status IS 'queued, running, succeeded, failed or cancelled.';

COMMENT ON COLUMN treadle.work_items.attempt IS 'How often it was claimed. Only grows: the fence of every write of a holder.';

COMMENT ON COLUMN treadle.work_items.stalls IS 'How often its lease ran out; at the limit it fails.';

COMMENT ON COLUMN treadle.work_items.claimed_by IS 'The worker that holds it, or held it last, for display and for finding lost claims.';

COMMENT ON COLUMN treadle.work_items.started_at IS 'When the current or last attempt was claimed; null while queued.';

COMMENT ON COLUMN treadle.work_items.lease_until IS 'Until when the holder owns it; set exactly while running.';

COMMENT ON COLUMN treadle.work_items.finished_at IS 'When it ended; set exactly when the status is final.';

COMMENT ON COLUMN treadle.work_items.updated_at IS 'Last change of any kind, heartbeats included. For display: it is not in commit order.';

COMMENT ON COLUMN treadle.work_items.cancel_requested_at IS 'When an admin asked to cancel it while it ran, or ended it while queued.';

COMMENT ON COLUMN treadle.work_items.progress_done IS 'Units done, of the latest snapshot.';

COMMENT ON COLUMN treadle.work_items.progress_total IS 'Units in all, of the latest snapshot; null: not known yet.';

COMMENT ON COLUMN treadle.work_items.progress_note IS 'Short note of the latest snapshot: ids and counts.';

COMMENT ON COLUMN treadle.work_items.result IS 'Result summary: whole when succeeded, partial when cancelled, never when failed.';

COMMENT ON COLUMN treadle.work_items.error IS 'Why it failed.';

COMMENT ON COLUMN treadle.work_items.follows IS 'Of scheduled items: the finished item of the key that it follows, or zeros. One item per slot.';

COMMENT ON COLUMN treadle.work_items.superseded_by IS 'The queued item of the same key that took over, when this one was on its way back to the queue.';

COMMENT ON COLUMN treadle.work_items.changed_xid IS 'Transaction of the last change other than a heartbeat: the live view reads changes by it.';

COMMENT ON COLUMN treadle.work_items.slot IS 'Of items queued by a cron schedule: the time it asked for. One item per key and slot; null for all others.';

CREATE TABLE treadle.workers (
    claimed_by text NOT NULL,
    kinds text[] NOT NULL,
    scopes uuid[],
    running uuid[] NOT NULL,
    started_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    seen_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

COMMENT ON TABLE treadle.workers IS 'Who is alive, for display and to say why an item waits; correctness never reads it.';

COMMENT ON COLUMN treadle.workers.claimed_by IS 'The worker''s name, as in work_items.claimed_by.';

COMMENT ON COLUMN treadle.workers.kinds IS 'The kinds it has handlers for.';

COMMENT ON COLUMN treadle.workers.scopes IS 'The scopes it serves; null: every one.';

COMMENT ON COLUMN treadle.workers.running IS 'The items it holds.';

COMMENT ON COLUMN treadle.workers.started_at IS 'When it was first seen.';

COMMENT ON COLUMN treadle.workers.seen_at IS 'When it last said so.';

ALTER TABLE ONLY treadle.cron_keys
    ADD CONSTRAINT cron_keys_pkey PRIMARY KEY (dedup_key);

ALTER TABLE ONLY treadle.item_events
    ADD CONSTRAINT item_events_pkey PRIMARY KEY (id);

ALTER TABLE ONLY treadle.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY treadle.work_items
    ADD CONSTRAINT work_items_pkey PRIMARY KEY (id);

ALTER TABLE ONLY treadle.workers
    ADD CONSTRAINT workers_pkey PRIMARY KEY (claimed_by);

CREATE INDEX item_events_item ON treadle.item_events USING btree (item_id, id);

CREATE INDEX tombstones_changed ON treadle.tombstones USING btree (changed_xid);

CREATE INDEX work_items_changed ON treadle.work_items USING btree (changed_xid);

CREATE INDEX work_items_claim ON treadle.work_items USING btree (requested_at, id) WHERE ((status = 'queued'::text) AND (finished_at IS NULL));

CREATE UNIQUE INDEX work_items_cron ON treadle.work_items USING btree (dedup_key, slot) WHERE (slot IS NOT NULL);

CREATE UNIQUE INDEX work_items_dedup ON treadle.work_items USING btree (dedup_key) WHERE ((status = 'queued'::text) AND (dedup_key IS NOT NULL));

CREATE INDEX work_items_finished ON treadle.work_items USING btree (finished_at, id) WHERE (finished_at IS NOT NULL);

CREATE INDEX work_items_key ON treadle.work_items USING btree (dedup_key, finished_at, id) WHERE (dedup_key IS NOT NULL);

CREATE INDEX work_items_running ON treadle.work_items USING btree (started_at, id) WHERE ((status = 'running'::text) AND (finished_at IS NULL));

CREATE INDEX work_items_scope ON treadle.work_items USING btree (scope_id, finished_at, requested_at, id) WHERE (scope_id IS NOT NULL);

CREATE UNIQUE INDEX work_items_slot ON treadle.work_items USING btree (dedup_key, follows) WHERE (follows IS NOT NULL);

CREATE INDEX work_items_unscoped ON treadle.work_items USING btree (requested_at, id) WHERE ((scope_id IS NULL) AND (finished_at IS NULL));

CREATE INDEX work_items_unsuccessful ON treadle.work_items USING btree (status, id) WHERE (status = ANY (ARRAY['failed'::text, 'cancelled'::text]));

CREATE TRIGGER bury_work_items AFTER DELETE ON treadle.work_items REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION treadle.bury_work_items();
