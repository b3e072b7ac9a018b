"""A real browser, and the page that it looks at: the gateway's own handler on a real server, with a fake desk behind it."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from awf.domain.ports.http_server import HttpReply
from awf.infrastructure.http_server import LeanHttpServer
from awf.interfaces.web import is_open_to_all, serve_page
from awf.testing import peers

HERE = Path(__file__).parent
FAKE_DESK = HERE.parents[1] / "interfaces" / "web" / "fake_desk.py"


def _load(known: str, path: Path):
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[known] = module
        spec.loader.exec_module(module)
    return sys.modules[known]


chromium = _load("browser_chromium", HERE / "chromium.py")
devtools = _load("browser_devtools", HERE / "devtools.py")


@pytest.fixture
def desks():
    return _load("web_fake_desk", FAKE_DESK)


class House:
    """The page's server. With a token, only those who have it learn anything."""

    def __init__(self, desk):
        self.desk = desk
        self.token = ""
        self.ready = True
        self.port = 0
        self.asked: list[tuple[str, str]] = []
        self._server: LeanHttpServer | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    async def open(self) -> None:
        self._server = LeanHttpServer(self._answer)
        self.port = await self._server.listen_tcp("127.0.0.1", self.port)

    async def close(self) -> None:
        if self._server is not None:
            await self._server.close(0.0)
            self._server = None

    async def _answer(self, request):
        self.asked.append((request.path, request.headers.get("authorization", "")))
        if not self.ready and request.path.startswith("/api/"):
            return HttpReply(503, (), b"not yet\n")
        wanted = f"Bearer {self.token}"
        known = is_open_to_all(request.path) or request.headers.get("authorization") == wanted
        if self.token and not known:
            return HttpReply(401, (("WWW-Authenticate", "Bearer"),), b"a token is needed\n")
        return await serve_page(request, self.desk)


@pytest.fixture
def desk(desks):
    return desks.FakeDesk()


@pytest.fixture
async def house(desk):
    house = House(desk)
    await house.open()
    yield house
    await house.close()


@pytest.fixture
async def browser():
    found = peers.requested(chromium.find_chromium)
    browser = await devtools.Chromium.start(found.executable, found.environment)
    yield browser
    await browser.close()


@pytest.fixture
async def visit(browser, house, request, tmp_path):
    """A function that opens the page in a tab of its own. In the end no tab may have complained or asked elsewhere."""
    pages, forgiven = [], []

    async def visit(fragment="", *, forgive="", ready=True, **view):
        page = await browser.page(**view)
        pages.append(page)
        if forgive:
            forgiven.append(forgive)
        await page.open(house.url + fragment)
        if ready:
            await page.until("document.getElementById('connection')?.textContent === 'Live'")
            await page.until("document.getElementById('view-loading').hidden")
        return page

    yield visit
    complaints = [
        text for page in pages for text in page.complaints if not any(one in text for one in forgiven)
    ]
    elsewhere = [url for page in pages for url in page.requests if not url.startswith(house.url)]
    for number, page in enumerate(pages):
        if folder := os.environ.get("AWF_BROWSER_PICTURES"):
            await page.picture(Path(folder) / f"{request.node.name}-{number}.png")
    assert complaints == []
    assert elsewhere == []
    assert any(page.requests for page in pages)
