-- The queued item of a dedup key, held until this transaction ends, and whether it asks for the same.
select twin.id,
       twin.kind = %(kind)s
           and twin.scope_id is not distinct from %(scope_id)s::uuid
           and twin.payload = %(payload)s::jsonb as same
from treadle.hold_queued_twin(%(dedup_key)s) as twin
