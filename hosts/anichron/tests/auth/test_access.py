"""Access tokens: only our own, unchanged and unexpired ones say anything."""

import base64
import json
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import jwt
import pytest

from anichron.auth.access import AccessTokens
from anichron.auth.sessions import Session
from anichron.database import Database

KEY = "k" * 40
LIFE = timedelta(minutes=15)
SESSION = Session(uuid4(), uuid4())


@pytest.fixture
def nowhere() -> Database:
    """A database that is never asked."""
    return Database("host=127.0.0.1 port=1")


@pytest.fixture
def tokens(nowhere: Database) -> AccessTokens:
    return AccessTokens(nowhere, key=KEY, life=LIFE)


async def test_a_token_says_whose_session_it_is_and_when_it_expires(tokens: AccessTokens) -> None:
    before = datetime.now(UTC)
    token, access = await tokens.issue(SESSION)
    assert await tokens.read(token) == access
    assert access.session == SESSION
    assert before + LIFE - timedelta(seconds=1) <= access.expires_at <= datetime.now(UTC) + LIFE


async def test_an_expired_token_says_nothing(nowhere: Database, tokens: AccessTokens) -> None:
    token, _ = await AccessTokens(nowhere, key=KEY, life=timedelta(seconds=-1)).issue(SESSION)
    assert await tokens.read(token) is None


async def test_a_token_of_another_key_says_nothing(nowhere: Database, tokens: AccessTokens) -> None:
    token, _ = await AccessTokens(nowhere, key="x" * 40, life=LIFE).issue(SESSION)
    assert await tokens.read(token) is None


def _claims(**changes: object) -> dict[str, object]:
    claims: dict[str, object] = {
        "sub": str(SESSION.user_id),
        "sid": str(SESSION.family_id),
        "aud": "anichron",
        "exp": datetime.now(UTC) + LIFE,
    }
    return {name: value for name, value in (claims | changes).items() if value is not None}


async def test_a_token_with_all_claims_is_read(tokens: AccessTokens) -> None:
    assert await tokens.read(jwt.encode(_claims(), KEY, "HS256")) is not None


@pytest.mark.parametrize(
    "changes",
    [{"exp": None}, {"sub": None}, {"sid": None}, {"aud": None}, {"aud": "else"}, {"sub": "ada"}, {"sid": 3}],
)
async def test_a_token_that_lacks_a_claim_says_nothing(
    tokens: AccessTokens, changes: dict[str, object]
) -> None:
    assert await tokens.read(jwt.encode(_claims(**changes), KEY, "HS256")) is None


async def test_an_unsigned_token_says_nothing(tokens: AccessTokens) -> None:
    claims = _claims(exp=int(datetime.now(UTC).timestamp()) + 900)
    parts = [{"alg": "none", "typ": "JWT"}, claims]
    unsigned = ".".join(
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts
    )
    assert await tokens.read(unsigned + ".") is None
    assert await tokens.read(jwt.encode(_claims(), "x" * 64, "HS512")) is None


@pytest.mark.parametrize("nonsense", ["", ".", "a.b.c", "\u00e9.\u00e9.\u00e9", "x" * 10_000])
async def test_nonsense_says_nothing(tokens: AccessTokens, nonsense: str) -> None:
    assert await tokens.read(nonsense) is None


async def test_without_a_key_every_process_signs_with_one_that_the_database_keeps(
    anichron_dsn: str,
) -> None:
    async with Database(anichron_dsn) as one, Database(anichron_dsn) as two:
        first, second = (AccessTokens(database, key="", life=LIFE) for database in (one, two))
        token, access = await first.issue(SESSION)
        assert await second.read(token) == access
        async with one.connection() as connection:
            cursor = await connection.execute("select secret from anichron.signing_key")
            ((secret,),) = await cursor.fetchall()
        assert jwt.decode(token, secret, ["HS256"], audience="anichron")["sub"] == str(SESSION.user_id)
