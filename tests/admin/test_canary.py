"""What nobody may see is in no answer, no event and no page."""

from __future__ import annotations

import json
from datetime import timedelta

import httpx

from tests.admin.host import ADMIN, API, application
from tests.admin.watched import following
from treadle.admin.broadcaster import Broadcaster
from treadle.admin.view import admin_view
from treadle.domain.item import Claimant, NewItem, Progress
from treadle.domain.outcome import Failed, Succeeded
from treadle.postgres import PostgresStore

CANARY = "canary-8f3a"


async def test_a_secret_in_payload_and_key_shows_nowhere(dsn: str) -> None:
    async with PostgresStore(dsn) as store:
        cursor = await store.live.cursor()
        who = Claimant(
            claimed_by="one@test", kinds=frozenset({"alpha"}), scopes=None, lease=timedelta(minutes=1)
        )
        ids = []
        for number in range(4):
            payload = json.dumps({CANARY: f"/photos/{CANARY}.jpg"})
            item = NewItem(kind="alpha", payload=payload, dedup_key=f"{CANARY}:{number}")
            ids.append((await store.queue.enqueue(item)).id)
        for outcome in (Succeeded({"files": 1}), Failed("it could not be read")):
            lease = await store.leases.claim(who)
            assert lease is not None
            assert CANARY in lease.payload
            await store.leases.finish(lease, outcome, Progress(done=1))
        await store.leases.claim(who)
        await store.presence.appear(who, ids[:1])

        app = application(store)
        app.mount("/admin", admin_view())
        texts = []
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://host", headers=ADMIN) as client:
            paths = [API, f"{API}?limit=1", f"{API}/counts", f"{API}/workers", f"{API}/kinds", "/admin/"]
            for path in [*paths, *(f"{API}/{id_}" for id_ in ids)]:
                answer = await client.get(path)
                assert answer.status_code == 200
                texts.append(answer.text)
            texts += [(await client.post(f"{API}/{id_}/cancel")).text for id_ in ids]
            # Whoever asks for it by mistake is not told it back either.
            texts += [
                (await client.get(f"{API}?limit={CANARY}")).text,
                (await client.get(f"{API}/{CANARY}")).text,
            ]
        async with following(Broadcaster(store.live, interval=0.05), cursor) as view:
            await view.until(lambda view: view.items.keys() >= set(ids))
        texts.append(repr(view.events))
    assert str(ids[0]) in texts[-1]
    assert not [text for text in texts if CANARY in text]
