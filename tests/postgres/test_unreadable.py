"""What only another program can have put into the table: it fails its item, and no claim."""

from enum import StrEnum

import psycopg
import pytest

from treadle.domain.item import NewItem
from treadle.domain.payload import Codec, Payload
from treadle.errors import PayloadError
from treadle.postgres import PostgresStore
from treadle.testing.contract.harness import ALPHA, claimant


class Kind(StrEnum):
    COUNT = "count"


class Numbered(Payload, kind=Kind.COUNT):
    number: float


@pytest.mark.parametrize(
    "payload", ['{"number": ' + "[" * 3_000 + "]" * 3_000 + "}", '{"number": ' + "9" * 5_000 + "}"]
)
async def test_a_payload_that_cannot_be_read_is_claimed_and_refused_where_it_is_decoded(
    dsn: str, payload: str
) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute(
            "insert into treadle.work_items (kind, payload) values (%s, %s::jsonb)", [ALPHA, payload]
        )
    async with PostgresStore(dsn) as store:
        lease = await store.leases.claim(claimant())
    assert lease is not None
    with pytest.raises(PayloadError, match="no longer decodes"):
        Codec(Numbered).decode(lease.payload)


async def test_a_statement_that_can_never_succeed_is_not_told_as_a_store_that_is_away(dsn: str) -> None:
    # An index row of over 2,700 bytes that does not compress; Registry.new_item refuses such a key before.
    key = "".join(chr(0x4E00 + 7919 * number % 20_000) for number in range(9_000))
    async with PostgresStore(dsn) as store:
        with pytest.raises(psycopg.errors.ProgramLimitExceeded):
            await store.queue.enqueue(NewItem(kind=ALPHA, payload="{}", dedup_key=key))
