-- Remove some counts whose window has ended.
delete from anichron.sign_in_attempts
where key in (
    select key from anichron.sign_in_attempts where until <= clock_timestamp() limit 100 for update skip locked
)
