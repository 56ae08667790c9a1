-- The transactional outbox: events that are published with what they tell, or not at all.

create table loryth.outbox (
    id uuid primary key default gen_random_uuid(),
    position bigint not null generated always as identity unique,
    aggregate_type text not null check (aggregate_type <> ''),
    aggregate_id text not null check (aggregate_id <> ''),
    event_type text not null check (event_type <> ''),
    payload jsonb not null,
    published_at timestamptz not null default clock_timestamp(),
    status text not null default 'waiting' check (status in ('waiting', 'done', 'parked')),
    attempts integer not null default 0,
    try_after timestamptz not null default clock_timestamp(),
    last_error text,
    finished_at timestamptz,
    check ((status = 'waiting') = (finished_at is null))
);
create index outbox_waiting on loryth.outbox (aggregate_type, aggregate_id, position) where status = 'waiting';
create index outbox_done on loryth.outbox (finished_at) where status = 'done';
create index outbox_parked on loryth.outbox (position) where status = 'parked';

comment on table loryth.outbox is 'Events, and how far their delivery has come.';
comment on column loryth.outbox.id is 'uuid.';
comment on column loryth.outbox.position is 'Order of delivery within an aggregate; between aggregates it means nothing.';
comment on column loryth.outbox.aggregate_type is 'Kind of thing it happened to, such as space.';
comment on column loryth.outbox.aggregate_id is 'Which of them.';
comment on column loryth.outbox.event_type is 'What happened; each has one handler.';
comment on column loryth.outbox.payload is 'What its handler is told.';
comment on column loryth.outbox.published_at is 'When it was published, which is before its transaction was committed.';
comment on column loryth.outbox.status is 'waiting until it is done, or parked after its last attempt; both are final, but that a parked one can be published anew.';
comment on column loryth.outbox.attempts is 'How often its handler was begun.';
comment on column loryth.outbox.try_after is 'When its handler may be begun again.';
comment on column loryth.outbox.last_error is 'What the last attempt came to; while one runs, what it comes to if its process is lost.';
comment on column loryth.outbox.finished_at is 'When it was done or parked.';
