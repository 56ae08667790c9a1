-- The library: photos, what they show, the files they are found in and the proxies made of them. Written by the Worker only.

create table anichron.media_assets (
    id uuid primary key default treadle.new_id(),
    storage_config_id uuid not null references anichron.storage_configs (id) on delete cascade,
    content_hash text not null check (content_hash ~ '^[0-9a-f]{16}$'),
    media_type text not null,
    byte_size bigint not null check (byte_size >= 0),
    blurhash text not null,
    imported_at timestamptz not null default clock_timestamp(),
    constraint one_asset_per_content unique (storage_config_id, content_hash)
);

comment on table anichron.media_assets is 'One row per picture of a storage config, however many files show it.';
comment on column anichron.media_assets.id is 'uuid v7; sorts by the time of import.';
comment on column anichron.media_assets.storage_config_id is 'The storage config it was found in; the asset goes with it.';
comment on column anichron.media_assets.content_hash is 'XXH64 of the whole file, seed 0, as 16 hexadecimal digits.';
comment on column anichron.media_assets.media_type is 'What the content is, whatever the file''s suffix says.';
comment on column anichron.media_assets.byte_size is 'Size of the original file in bytes.';
comment on column anichron.media_assets.blurhash is 'BlurHash of 4 x 3 components, shown until a proxy is there.';
comment on column anichron.media_assets.imported_at is 'When it was first taken into the library.';

create table anichron.metadata (
    asset_id uuid primary key references anichron.media_assets (id) on delete cascade,
    width integer not null check (width > 0),
    height integer not null check (height > 0),
    orientation smallint not null check (orientation in (0, 90, 180, 270)),
    mirrored boolean not null,
    latitude double precision check (latitude between -90 and 90),
    longitude double precision check (longitude between -180 and 180),
    make text,
    model text,
    lens text,
    captured_at timestamptz not null,
    captured_from text not null check (captured_from in ('exif', 'file')),
    utc_offset smallint,
    constraint a_position_has_both_parts check ((latitude is null) = (longitude is null))
);

comment on table anichron.metadata is 'What is known about an asset''s picture, from its EXIF where there is any.';
comment on column anichron.metadata.asset_id is 'The asset it describes.';
comment on column anichron.metadata.width is 'Pixels, of the picture as displayed.';
comment on column anichron.metadata.height is 'Pixels, of the picture as displayed.';
comment on column anichron.metadata.orientation is 'Clockwise degrees from the stored picture to the upright one.';
comment on column anichron.metadata.mirrored is 'Whether the stored picture is also mirrored, before it is turned.';
comment on column anichron.metadata.latitude is 'Decimal degrees, north positive.';
comment on column anichron.metadata.longitude is 'Decimal degrees, east positive.';
comment on column anichron.metadata.make is 'The camera''s manufacturer.';
comment on column anichron.metadata.model is 'The camera''s model.';
comment on column anichron.metadata.lens is 'The lens''s model.';
comment on column anichron.metadata.captured_at is 'When it was taken; without EXIF, the oldest modification time of its files.';
comment on column anichron.metadata.captured_from is 'Where captured_at comes from: exif or file.';
comment on column anichron.metadata.utc_offset is
    'Minutes east of UTC that the camera named; null: none, and an exif captured_at is its wall clock read as UTC.';

create table anichron.proxy_files (
    asset_id uuid not null references anichron.media_assets (id) on delete cascade,
    variant text not null check (variant in ('thumbnail', 'preview')),
    path text not null,
    width integer not null check (width > 0),
    height integer not null check (height > 0),
    byte_size integer not null check (byte_size > 0),
    primary key (asset_id, variant)
);

comment on table anichron.proxy_files is 'The smaller JPEGs made of an asset, which clients are shown.';
comment on column anichron.proxy_files.asset_id is 'The asset it shows.';
comment on column anichron.proxy_files.variant is 'thumbnail: 300 px wide; preview: 1920 px on its longer side.';
comment on column anichron.proxy_files.path is 'Path under the proxy folder, with slashes.';
comment on column anichron.proxy_files.width is 'Pixels.';
comment on column anichron.proxy_files.height is 'Pixels.';
comment on column anichron.proxy_files.byte_size is 'Size of the file in bytes.';

create table anichron.media_files (
    storage_config_id uuid not null references anichron.storage_configs (id) on delete cascade,
    path text not null,
    -- A path can be longer than an index entry may be.
    path_key uuid not null generated always as (md5(path)::uuid) stored,
    asset_id uuid not null references anichron.media_assets (id) on delete cascade,
    role text not null check (role in ('photo', 'live-video')),
    byte_size bigint not null check (byte_size >= 0),
    mtime_ns bigint not null,
    primary key (storage_config_id, path_key)
);

create index media_files_of_an_asset on anichron.media_files (asset_id);

comment on table anichron.media_files is 'Every file of the library as it was last read; one that has not changed is not read again.';
comment on column anichron.media_files.storage_config_id is 'The storage config under whose root it lies.';
comment on column anichron.media_files.path is
    'Path under the root, with slashes. A backslash is doubled and a byte that is not UTF-8 stands as \xNN.';
comment on column anichron.media_files.path_key is 'MD5 of the path, for the primary key.';
comment on column anichron.media_files.asset_id is 'The asset that the file shows or belongs to.';
comment on column anichron.media_files.role is 'photo: the picture; live-video: the moving part of a Live Photo.';
comment on column anichron.media_files.byte_size is 'Size in bytes when it was read.';
comment on column anichron.media_files.mtime_ns is 'Modification time when it was read, in nanoseconds since 1970.';
