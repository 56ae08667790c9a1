-- Signing in: users who are kept out, the key that access tokens are signed with, and how often somebody tried.

alter table anichron.users add column disabled_at timestamptz;

comment on column anichron.users.disabled_at is 'Since when the user cannot sign in; null: they can. Their folders are served all the same.';

create table anichron.signing_key (
    only_row boolean primary key default true check (only_row),
    secret text not null check (length(secret) >= 32)
);

comment on table anichron.signing_key is 'The one key of all API processes, unless API__SECRET_KEY gives it; deleting the row ends every access token.';
comment on column anichron.signing_key.only_row is 'Always true: there is one key.';
comment on column anichron.signing_key.secret is 'Random text; whoever reads it can sign in as anybody.';

create table anichron.sign_in_attempts (
    key bytea primary key,
    count integer not null check (count >= 0),
    until timestamptz not null
);
create index sign_in_attempts_until on anichron.sign_in_attempts (until);

comment on table anichron.sign_in_attempts is 'How many sign-ins failed lately, so that passwords cannot be guessed.';
comment on column anichron.sign_in_attempts.key is 'SHA-256 of what is counted: a name, an address or both; names are often mistyped passwords.';
comment on column anichron.sign_in_attempts.count is 'Attempts in this window, less those that succeeded.';
comment on column anichron.sign_in_attempts.until is 'When the window ends and the count starts anew.';
