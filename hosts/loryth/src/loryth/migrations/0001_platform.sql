-- What the platform keeps in spaces, and the plugins it talks to. Its services write here; the worker's chores tidy up.

create table loryth.spaces (
    id uuid primary key default gen_random_uuid(),
    name text not null check (name <> ''),
    status text not null default 'ACTIVE' check (status in ('ACTIVE', 'CLOSED', 'DELETED')),
    closed_at timestamptz,
    created_at timestamptz not null default clock_timestamp(),
    check (status = 'ACTIVE' or closed_at is not null)
);
create index spaces_closed on loryth.spaces (closed_at) where status = 'CLOSED';

comment on table loryth.spaces is 'Where people keep files together.';
comment on column loryth.spaces.id is 'uuid.';
comment on column loryth.spaces.name is 'Name for people.';
comment on column loryth.spaces.status is 'ACTIVE; CLOSED by its owner, who may open it again for some time; DELETED for good.';
comment on column loryth.spaces.closed_at is 'Since when it is closed; its time of grace runs from here.';
comment on column loryth.spaces.created_at is 'When it was made.';

create table loryth.files (
    id uuid primary key default gen_random_uuid(),
    space_id uuid not null references loryth.spaces (id),
    -- A key is never used twice: a delete that arrives late cannot hit what was stored after it.
    object_key text not null generated always as ('files/' || id) stored,
    status text not null default 'UPLOADING' check (status in ('UPLOADING', 'ACTIVE', 'DELETED')),
    upload_id text,
    created_at timestamptz not null default clock_timestamp(),
    cleanup_attempts integer not null default 0,
    cleanup_after timestamptz not null default clock_timestamp(),
    cleanup_error text,
    check (upload_id is null or status <> 'ACTIVE')
);
create index files_space on loryth.files (space_id) where status <> 'DELETED';
create index files_uploading on loryth.files (created_at) where status = 'UPLOADING';
create index files_deleted on loryth.files (cleanup_after) where status = 'DELETED';
create index files_upload on loryth.files (upload_id) where upload_id is not null;

comment on table loryth.files is 'Files, each an object in the store; a row outlives its object.';
comment on column loryth.files.id is 'uuid.';
comment on column loryth.files.space_id is 'The space it is in.';
comment on column loryth.files.object_key is 'Key of the object in the bucket, made from the id.';
comment on column loryth.files.status is 'UPLOADING until the upload is complete, then ACTIVE; DELETED for good, until a chore has removed the object.';
comment on column loryth.files.upload_id is 'The store''s id of a multipart upload that has been neither completed nor aborted.';
comment on column loryth.files.created_at is 'When its upload was asked for.';
comment on column loryth.files.cleanup_attempts is 'How often its removal from the store has failed.';
comment on column loryth.files.cleanup_after is 'When its removal is tried again.';
comment on column loryth.files.cleanup_error is 'What its removal failed with the last time.';

-- The object of a deleted file may be gone already, so nobody brings its row back to life.
create function loryth.keep_deleted() returns trigger
language plpgsql as $$
begin
    raise exception 'file % is DELETED, which is for good', old.id using errcode = 'check_violation';
end
$$;
create trigger files_keep_deleted before update of status on loryth.files
    for each row when (old.status = 'DELETED' and new.status <> 'DELETED')
    execute function loryth.keep_deleted();

-- A space that is being deleted gets no file behind the back of whoever deletes it.
create function loryth.refuse_closed_space() returns trigger
language plpgsql as $$
begin
    perform from loryth.spaces where id = new.space_id and status = 'ACTIVE' for share;
    if not found then
        raise exception 'space % does not take files: it is closed, or there is none', new.space_id
            using errcode = 'check_violation';
    end if;
    return new;
end
$$;
create trigger files_in_active_space before insert on loryth.files
    for each row execute function loryth.refuse_closed_space();

create table loryth.plugins (
    id uuid primary key default gen_random_uuid(),
    name text not null unique check (name <> ''),
    health_url text not null check (health_url ~ '^https?://'),
    is_enabled boolean not null default true,
    is_healthy boolean,
    http_status integer,
    took_seconds double precision,
    error text,
    checked_at timestamptz
);

comment on table loryth.plugins is 'Services of others that the platform talks to.';
comment on column loryth.plugins.id is 'uuid.';
comment on column loryth.plugins.name is 'Name for people.';
comment on column loryth.plugins.health_url is 'Answers a GET with a 2xx status when the plugin is well.';
comment on column loryth.plugins.is_enabled is 'Whether it is in use, and so checked.';
comment on column loryth.plugins.is_healthy is 'What the last check found; null before the first.';
comment on column loryth.plugins.http_status is 'What it answered; null when it did not.';
comment on column loryth.plugins.took_seconds is 'How long that took.';
comment on column loryth.plugins.error is 'Why it is not well; null when it is.';
comment on column loryth.plugins.checked_at is 'When it was checked.';
