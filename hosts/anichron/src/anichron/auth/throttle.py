"""How often a password may be tried."""

from __future__ import annotations

import hashlib
import ipaddress
import math
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from anichron.database import Database, statement
from treadle.errors import TreadleError

_SQL = "anichron.auth.sql"

WINDOW: Final = timedelta(minutes=15)
PER_NAME_AND_ADDRESS: Final = 10
PER_ADDRESS: Final = 50
PER_NAME: Final = 100
"""Higher than the first, so that a stranger cannot easily keep a user out; it stops guessing from many addresses."""


class TooManyAttempts(TreadleError):
    """Signing in was tried too often; it is of use again after `seconds`."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"too many attempts to sign in; try again in {seconds} seconds")
        self.seconds = seconds


class Throttle:
    """Counts failed sign-ins in the database, so that the limits are those of all API processes together."""

    def __init__(self, database: Database, *, window: timedelta = WINDOW) -> None:
        self._database = database
        self._seconds = window.total_seconds()

    async def count(self, name: str, address: str) -> None:
        """Count an attempt before it is made. Raises ``TooManyAttempts``, and then counts nothing."""
        limits = _limits(name, address)
        async with self._database.connection() as connection:
            await connection.execute(statement(_SQL, "forget_attempts"))
            cursor = await connection.execute(
                statement(_SQL, "count_attempt"), {"keys": list(limits), "seconds": self._seconds}
            )
            waits = [left for key, count, left in await cursor.fetchall() if count > limits[bytes(key)]]
            if waits:
                # Leaves the transaction by an error, which takes every count of this attempt back.
                raise TooManyAttempts(max(1, math.ceil(max(waits))))

    async def take_back(self, name: str, address: str) -> None:
        """Take back the attempt, which has succeeded; what failed before goes on counting."""
        async with self._database.connection() as connection:
            await connection.execute(
                statement(_SQL, "take_back_attempt"), {"keys": list(_limits(name, address))}
            )


def _limits(name: str, address: str) -> Mapping[bytes, int]:
    name, place = name.casefold(), _place(address)
    counted = {
        ("name and address", name, place): PER_NAME_AND_ADDRESS,
        ("address", place): PER_ADDRESS,
        ("name", name): PER_NAME,
    }
    return {
        hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest(): limit
        for parts, limit in counted.items()
    }


def _place(address: str) -> str:
    """The address, or the network of an IPv6 one: whoever has one address there has all of them."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is None:
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)
