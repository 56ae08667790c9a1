-- Let changes of who is an admin happen one after the other.
select id from anichron.users where is_admin order by id for no key update
