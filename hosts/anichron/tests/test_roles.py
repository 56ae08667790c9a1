"""The roles of docs/deployment.md: each can do its work, and a Worker can read no secrets of signing in."""

import re
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex

import psycopg
import pytest
from argon2 import PasswordHasher
from psycopg import sql
from psycopg.conninfo import make_conninfo

from anichron.database import Database
from anichron.identity.configs import StorageConfigs
from anichron.identity.users import Users
from anichron.settings import ApiSection
from anichron.tokens.repository import RefreshTokens
from hosts.anichron.tests.api.serving import serving
from treadle.cli.grants import grants

PAGE = Path(__file__).parents[3] / "docs" / "deployment.md"


@pytest.fixture
def roles(anichron_dsn: str) -> Iterator[dict[str, str]]:
    """Connection strings of both roles, with the rights that the page gives them."""
    block = re.search(r"<<'SQL'\n(.*?)^SQL$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert block is not None
    suffix, password = token_hex(4), token_hex(8)
    names = {name: f"anichron_{name}_{suffix}" for name in ("api", "worker")}
    script = grants(api_role=names["api"], worker_role=names["worker"])
    script += re.sub(r"\banichron_(api|worker)\b", lambda found: names[found[1]], block[1])
    with psycopg.connect(anichron_dsn, autocommit=True) as owner:
        for real in names.values():
            owner.execute(
                sql.SQL("create role {} login password {}").format(
                    sql.Identifier(real), sql.Literal(password)
                )
            )
        try:
            owner.execute(script.encode())
            yield {
                name: make_conninfo(anichron_dsn, user=real, password=password)
                for name, real in names.items()
            }
        finally:
            for real in names.values():
                owner.execute(sql.SQL("drop owned by {0}; drop role {0}").format(sql.Identifier(real)))


async def test_the_api_s_role_signs_in_and_looks_after_users_and_folders(
    roles: dict[str, str], anichron_dsn: str
) -> None:
    with psycopg.connect(anichron_dsn) as owner:
        owner.execute(
            "insert into anichron.users (username, password_hash, is_admin) values ('root', %s, true)",
            [PasswordHasher().hash("pw")],
        )
    async with serving(roles["api"], ApiSection()) as api:
        login = {"username": "root", "password": "pw"}
        assert (await api.post("/api/v1/auth/login", json=login | {"password": "no"})).status_code == 401
        tokens = (await api.post("/api/v1/auth/login", json=login)).json()
        refresh = {"refresh_token": tokens["refresh_token"]}
        tokens = (await api.post("/api/v1/auth/refresh", json=refresh)).json()
        api.headers["Authorization"] = f"Bearer {tokens['access_token']}"
        ada = (await api.post("/api/v1/admin/users", json={"username": "ada"})).json()
        for disabled in (True, False):
            path = f"/api/v1/admin/users/{ada['id']}"
            assert (await api.patch(path, json={"disabled": disabled})).status_code == 200
        body = {"user_id": ada["id"], "root_path": "/photos"}
        config = (await api.post("/api/v1/admin/storage-configs", json=body)).json()
        with psycopg.connect(anichron_dsn) as owner:
            owner.execute(
                "insert into treadle.work_items (kind, scope_id) values ('crawl', %s)", [config["id"]]
            )
        items = (await api.get("/api/v1/admin/work-items")).json()["items"]
        cancel = await api.post(f"/api/v1/admin/work-items/{items[0]['id']}/cancel")
        assert cancel.json()["cancellation"] == "cancelled"
        path = f"/api/v1/admin/storage-configs/{config['id']}"
        assert (await api.delete(path)).status_code == 204
        assert (await api.get("/api/v1/admin/work-items")).json()["items"] == []
        assert (await api.post("/api/v1/auth/logout", json=refresh)).status_code == 204


async def test_the_worker_s_role_has_its_folder_and_removes_tokens_and_reads_no_secret(
    roles: dict[str, str], anichron_dsn: str
) -> None:
    with psycopg.connect(anichron_dsn) as owner:
        owner.execute("insert into anichron.users (username, password_hash) values ('ada', 'secret')")
        owner.execute(
            "insert into anichron.refresh_tokens (user_id, token_hash, family_id, expires_at)"
            " select id, 'old', gen_random_uuid(), now() - interval '1 day' from anichron.users"
        )
    async with Database(roles["worker"]) as database:
        ada = await Users(database).find("ada")
        assert ada is not None
        config = await StorageConfigs(database).ensure(ada.id, Path("/photos"))
        assert await StorageConfigs(database).active() == [config]
        assert await RefreshTokens(database).delete_expired(limit=10) == 1
        for query in (
            "select password_hash from anichron.users",
            "select secret from anichron.signing_key",
            "select token_hash from anichron.refresh_tokens",
            "select key from anichron.sign_in_attempts",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                async with database.connection() as connection:
                    await connection.execute(query)
