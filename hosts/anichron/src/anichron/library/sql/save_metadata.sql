-- Adds an asset's metadata, or replaces it; of two file times the older one stays, whichever came first.
insert into anichron.metadata as known (
    asset_id, width, height, orientation, mirrored, latitude, longitude, make, model, lens,
    captured_at, captured_from, utc_offset
)
values (
    %(asset_id)s, %(width)s, %(height)s, %(orientation)s, %(mirrored)s, %(latitude)s, %(longitude)s,
    %(make)s, %(model)s, %(lens)s, %(captured_at)s, %(captured_from)s, %(utc_offset)s
)
on conflict (asset_id) do update
set width = excluded.width,
    height = excluded.height,
    orientation = excluded.orientation,
    mirrored = excluded.mirrored,
    latitude = excluded.latitude,
    longitude = excluded.longitude,
    make = excluded.make,
    model = excluded.model,
    lens = excluded.lens,
    captured_at = case
        when known.captured_from = 'file' and excluded.captured_from = 'file'
            then least(known.captured_at, excluded.captured_at)
        else excluded.captured_at
    end,
    captured_from = excluded.captured_from,
    utc_offset = excluded.utc_offset
