"""Takes the pictures of the documentation, or those named: the view in a real browser, on a seeded database."""

from __future__ import annotations

import asyncio
import shutil
import socket
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Literal

import uvicorn
from demo_queue import Demo
from fastapi import FastAPI, HTTPException, Request
from playwright.async_api import Browser, Page, async_playwright

from treadle.admin import admin_router
from treadle.admin.view import TokenSignIn, admin_view
from treadle.embedded import EmbeddedPostgres
from treadle.postgres.client import PostgresClient
from treadle.postgres.migrate import migrate

IMAGES: Final = Path(__file__).parent.parent / "docs" / "images"
DOCUMENTED: Final = {"list", "item", "cancelling", "phone"}
TOKEN: Final = "only-for-pictures"
FLAGS: Final = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
]


async def require_admin(request: Request) -> None:
    if request.headers.get("authorization") != f"Bearer {TOKEN}":
        raise HTTPException(401, "a token is needed")


@asynccontextmanager
async def served(conninfo: str) -> AsyncIterator[str]:
    """The address of the view on that database."""
    async with PostgresClient(conninfo) as client:
        app = FastAPI()
        app.include_router(admin_router(client, require_admin=require_admin, live_interval=0.5))
        app.mount("/admin", admin_view(sign_in=TokenSignIn(), title="Anichron work"))
        listener = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
        running = asyncio.create_task(server.serve(sockets=[listener]))
        port = listener.getsockname()[1]
        try:
            yield f"http://127.0.0.1:{port}/admin/"
        finally:
            server.should_exit = True
            await running


@asynccontextmanager
async def opened(
    browser: Browser, address: str, *, width: int, height: int, theme: Literal["light", "dark"]
) -> AsyncIterator[Page]:
    """The page, signed in and live."""
    context = await browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=theme,
        device_scale_factor=1.5 if width > 600 else 2,
    )
    page = await context.new_page()
    page.on("console", lambda message: print(f"  console: {message.text}"))
    page.on("pageerror", lambda error: print(f"  page error: {error}"))
    await page.goto(address)
    await page.get_by_label("Access token").fill(TOKEN)
    await page.keyboard.press("Enter")
    await page.locator("#connection[data-state=live]").wait_for()
    try:
        yield page
    finally:
        await context.close()


async def take(browser: Browser, address: str, demo: Demo, only: set[str]) -> None:
    shots = {
        "list": ("", 1280, 760),
        "item": (f"?item={demo.named['crawl']}", 1280, 760),
        "cancelled": (f"?item={demo.named['partial']}", 1280, 900),
        "cancelling": (f"?item={demo.named['cancelling']}", 1280, 760),
        "failed": (f"?item={demo.named['failed']}", 1280, 760),
        "waiting": (f"?item={demo.named['queued']}", 1280, 620),
        "unknown": (f"?item={demo.named['unknown']}", 1280, 620),
        "workers": ("?view=workers", 1280, 620),
        "phone": ("", 390, 844),
        "phone-item": (f"?item={demo.named['crawl']}", 390, 844),
        "empty": ("?kind=nothing-like-it", 1280, 500),
    }
    themes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for theme in themes:
        for name, (query, width, height) in shots.items():
            if name not in (only or DOCUMENTED):
                continue
            async with opened(browser, address + query, width=width, height=height, theme=theme) as page:
                for _ in range(8):
                    demo.move()
                    await asyncio.sleep(0.6)
                await page.screenshot(path=IMAGES / f"{name}-{theme}.png")
                print(f"{name}-{theme}.png")


async def main(conninfo: str, only: set[str]) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("screenshots need a browser: apt install chromium")
    migrate(conninfo)
    demo = Demo(conninfo)
    demo.seed()
    IMAGES.mkdir(parents=True, exist_ok=True)
    async with served(conninfo) as address, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        await take(browser, address, demo, only)
        await browser.close()


if __name__ == "__main__":
    place = Path(tempfile.mkdtemp(prefix="treadle-pictures-"))
    place.chmod(0o711)
    try:
        with EmbeddedPostgres(place, fsync=False) as postgres:
            asyncio.run(main(postgres.dsn, set(sys.argv[1:])))
    finally:
        shutil.rmtree(place)
