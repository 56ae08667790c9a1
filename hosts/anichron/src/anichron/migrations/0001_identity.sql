-- Who uses the library, which folders they have, and how they stay signed in. Only the API writes here, but for
-- the token cleanup and the storage config that a per-user worker makes sure of.

create table anichron.users (
    id uuid primary key default treadle.new_id(),
    -- Without an @, so that a name and an email never mean two people.
    username text not null unique check (username ~ '^[^[:space:]@]{1,100}$'),
    email text unique check (email ~ '^[^[:space:]@]+@[^[:space:]@]+$' and email = lower(email)),
    password_hash text not null check (password_hash <> ''),
    is_admin boolean not null default false,
    created_at timestamptz not null default clock_timestamp()
);

comment on table anichron.users is 'The people who use the library.';
comment on column anichron.users.id is 'uuid v7.';
comment on column anichron.users.username is 'Name to sign in with; no @ in it.';
comment on column anichron.users.email is 'Address, in lower case; null when none was given.';
comment on column anichron.users.password_hash is 'Argon2id hash with its salt and parameters.';
comment on column anichron.users.is_admin is 'Whether the user may see and cancel everybody''s work items.';
comment on column anichron.users.created_at is 'When the user was made.';

create table anichron.storage_configs (
    id uuid primary key default treadle.new_id(),
    user_id uuid not null references anichron.users (id) on delete cascade,
    root_path text not null unique check (root_path like '/%'),
    is_active boolean not null default true,
    created_at timestamptz not null default clock_timestamp()
);
create index storage_configs_user on anichron.storage_configs (user_id);

comment on table anichron.storage_configs is 'The folders of originals; each is crawled on its own.';
comment on column anichron.storage_configs.id is 'uuid v7; the scope of the folder''s work items.';
comment on column anichron.storage_configs.user_id is 'Whose photos they are.';
comment on column anichron.storage_configs.root_path is 'Absolute path of the folder as workers see it; one owner for each.';
comment on column anichron.storage_configs.is_active is 'Whether workers serve it.';
comment on column anichron.storage_configs.created_at is 'When it was added.';

create table anichron.refresh_tokens (
    id uuid primary key default treadle.new_id(),
    user_id uuid not null references anichron.users (id) on delete cascade,
    token_hash bytea not null unique,
    family_id uuid not null,
    created_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz not null,
    revoked_at timestamptz
);
create index refresh_tokens_user on anichron.refresh_tokens (user_id);
create index refresh_tokens_family on anichron.refresh_tokens (family_id);
create index refresh_tokens_expiry on anichron.refresh_tokens (expires_at);

comment on table anichron.refresh_tokens is 'Refresh tokens, each good for one use; expired ones are removed by the token cleanup.';
comment on column anichron.refresh_tokens.id is 'uuid v7.';
comment on column anichron.refresh_tokens.user_id is 'Who signed in.';
comment on column anichron.refresh_tokens.token_hash is 'SHA-256 of the token; the token itself is never stored.';
comment on column anichron.refresh_tokens.family_id is 'Common to all tokens that descend from one sign-in.';
comment on column anichron.refresh_tokens.created_at is 'When it was issued.';
comment on column anichron.refresh_tokens.expires_at is 'From when on it is worth nothing.';
comment on column anichron.refresh_tokens.revoked_at is 'When it was used or withdrawn; kept until it expires, so that a second use is noticed.';

-- A deleted folder takes its work with it, under a running worker too, which is then fenced off.
alter table treadle.work_items
    add constraint work_items_scope_fkey
    foreign key (scope_id) references anichron.storage_configs (id) on delete cascade;
