"""The page that shows work items live: one document and static files, ready to be mounted by a host."""

from __future__ import annotations

import html
import json
from dataclasses import asdict
from pathlib import Path
from string import Template
from typing import Final

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treadle.admin.view.sign_in import PasswordSignIn, SignIn

_HERE: Final = Path(__file__).parent

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
"""Nothing inline and nothing from elsewhere; and no text can become markup, whatever a script would like."""

_HEADERS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    # Files are asked for anew and answered by 304: a page never mixes modules of two versions.
    "Cache-Control": "no-cache",
}


def admin_view(
    *,
    api: str = "/api/v1/admin/work-items",
    sign_in: SignIn | None = None,
    title: str = "Work items",
) -> Starlette:
    """The view for a host to mount; ``app.mount("/admin", ...)`` serves it at ``/admin/``.

    *api* is where ``admin_router`` is, absolute or relative to the page; *sign_in* says how people get in, by
    default with a name and a password. The page itself holds nothing secret and is open to everybody; the API
    decides who sees what.
    """
    document = _document(api=api, sign_in=sign_in or PasswordSignIn(), title=title)

    async def page(_: Request) -> Response:
        return HTMLResponse(document)

    app = Starlette(
        routes=[
            Route("/", page),
            Mount("/static", StaticFiles(directory=_HERE / "static")),
        ]
    )
    app.add_middleware(_WithHeaders)
    return app


def _document(*, api: str, sign_in: SignIn, title: str) -> str:
    config = json.dumps({"api": api, "sign_in": asdict(sign_in)})
    modules = sorted(file.name for file in (_HERE / "static").glob("*.js") if file.name != "theme.js")
    return Template((_HERE / "page.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(title),
        config=html.escape(config),
        preloads="\n".join(f'<link rel="modulepreload" href="static/{name}">' for name in modules),
    )


class _WithHeaders:
    """Puts the headers on every response, refusals included."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await self._app(scope, receive, send_with_headers)
