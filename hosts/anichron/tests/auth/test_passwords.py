"""Passwords are verified away from the event loop, whoever they are of."""

import asyncio
import threading
from typing import Literal

import pytest
from argon2 import PasswordHasher

from anichron.identity.passwords import Passwords, made_up

CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


class Watched(PasswordHasher):
    """Remembers the threads that it works in, and how many work at once."""

    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=8, parallelism=1)
        self.threads: list[int] = []
        self.at_once = 0
        self.most = 0
        self._lock = threading.Lock()

    def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:  # noqa: A002 - its name there
        with self._lock:
            self.threads.append(threading.get_ident())
            self.at_once += 1
            self.most = max(self.most, self.at_once)
        try:
            return super().verify(hash, password)
        finally:
            with self._lock:
                self.at_once -= 1


async def test_the_right_password_only_is_verified() -> None:
    passwords = Passwords(CHEAP)
    hashed = await passwords.hash("correct horse")
    assert await passwords.verify("correct horse", hashed)
    assert not await passwords.verify("Correct horse", hashed)
    assert not await passwords.verify("", hashed)
    assert not await passwords.verify("correct horse", "no hash at all")


async def test_nobody_s_password_is_verified_at_the_same_cost_and_never_right() -> None:
    hasher = Watched()
    passwords = Passwords(hasher)
    assert not await passwords.verify("anything", None)
    assert not await passwords.verify("", None)
    assert len(hasher.threads) == 2


async def test_no_hash_is_computed_in_the_event_loop_nor_more_than_two_at_once() -> None:
    hasher = Watched()
    passwords = Passwords(hasher)
    hashed = await passwords.hash("pw")
    assert all(await asyncio.gather(*(passwords.verify("pw", hashed) for _ in range(20))))
    assert threading.get_ident() not in hasher.threads
    assert hasher.most <= 2


async def test_a_hash_of_other_parameters_is_outdated() -> None:
    hashed = await Passwords(CHEAP).hash("pw")
    assert not Passwords(CHEAP).is_outdated(hashed)
    assert Passwords(PasswordHasher(time_cost=2, memory_cost=8, parallelism=1)).is_outdated(hashed)


def test_the_default_hash_is_argon2id() -> None:
    hashed = asyncio.run(Passwords().hash("pw"))
    assert hashed.startswith("$argon2id$v=19$")
    memory = int(hashed.split("m=")[1].split(",")[0])
    # RFC 9106, section 4: the second recommended option.
    assert memory >= 64 * 1024


@pytest.mark.parametrize("_", range(3))
def test_passwords_that_are_made_up_differ(_: int) -> None:
    assert made_up() != made_up()
    assert len(made_up()) >= 16
