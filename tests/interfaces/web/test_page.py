"""The page's answers over a real socket."""

from __future__ import annotations

import asyncio
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import awf.interfaces.web
from awf.interfaces.web import is_open_to_all

PATIENCE = 60
ASSETS = Path(awf.interfaces.web.__file__).with_name("assets")
API = ("/api/status", "/api/tools", "/api/calls")


async def until(condition):
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.005)


# -- files


async def test_the_page_is_at_the_root(client):
    answer = await client.ask("/")
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.body == (ASSETS / "index.html").read_bytes()


@pytest.mark.parametrize("name", sorted(file.name for file in ASSETS.iterdir()))
async def test_every_file_is_served_with_its_type(client, name):
    answer = await client.ask(f"/assets/{name}")
    types = {
        "js": "text/javascript; charset=utf-8",
        "css": "text/css; charset=utf-8",
        "svg": "image/svg+xml",
        "html": "text/html; charset=utf-8",
    }
    assert (answer.status, answer.headers["content-type"]) == (200, types[name.rsplit(".")[-1]])
    assert answer.body == (ASSETS / name).read_bytes()


@pytest.mark.parametrize("path", ["/", "/assets/app.js"])
async def test_a_browser_that_has_the_file_is_told_so(client, path):
    first = await client.ask(path)
    assert first.headers["cache-control"] == "no-cache"
    for mark in (
        first.headers["etag"],
        f"W/{first.headers['etag']}",
        f'"other", {first.headers["etag"]}',
        "*",
    ):
        again = await client.ask(path, If_None_Match=mark)
        assert (again.status, again.body) == (304, b"")
        assert again.headers["etag"] == first.headers["etag"]
    assert (await client.ask(path, If_None_Match='"other"')).status == 200


@pytest.mark.parametrize(
    "path",
    ["/assets/", "/assets/../page.py", "/assets/%2e%2e/page.py", "/assets/..%2fpage.py", "/assets//etc/passwd",
     "/assets/nothing.js", "/assets/__init__.py", "/index.html", "/api", "/api/", "/api/secrets", "/mcp", "/x"],
)  # fmt: skip
async def test_nothing_else_is_there(client, path):
    answer = await client.ask(path)
    assert answer.status == 404
    assert "content-security-policy" in answer.headers


@pytest.mark.parametrize("path", ["/", "/assets/app.js", *API, "/api/events"])
async def test_it_can_only_be_read(client, desk, path):
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        answer = await client.ask(path, method)
        assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")
    assert desk.watches == []


@pytest.mark.parametrize("path", ["/", "/assets/style.css", *API])
async def test_head_is_get_without_the_body(client, path):
    got, asked = await client.ask(path), await client.ask(path, "HEAD")
    assert (asked.status, asked.body) == (200, b"")
    for name in ("content-type", "etag", "content-length", "cache-control"):
        assert asked.headers[name] == got.headers[name]


async def test_head_of_the_events_opens_no_stream(client, desk):
    answer = await client.ask("/api/events", "HEAD")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream")
    assert desk.watches == []


# -- safety


@pytest.mark.parametrize("path", ["/", "/assets/app.js", *API, "/nothing"])
async def test_every_answer_forbids_what_the_page_does_not_need(client, path):
    headers = (await client.ask(path)).headers
    policy = dict(rule.split(" ", 1) for rule in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert {policy[name] for name in ("script-src", "style-src", "connect-src", "img-src")} == {"'self'"}
    assert {policy[name] for name in ("base-uri", "form-action", "frame-ancestors", "trusted-types")} == {
        "'none'"
    }
    assert policy["require-trusted-types-for"] == "'script'"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "unsafe" not in headers["content-security-policy"]


def test_what_needs_no_token_tells_nothing():
    assert all(is_open_to_all(path) for path in ("/", "/assets/app.js"))
    assert not any(is_open_to_all(path) for path in (*API, "/api/events", "/mcp", "//", "/assets", ""))


class _References(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found, self.inline, self._script = [], [], False

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.found += [given[name] for name in ("src", "href", "action") if name in given]
        self.inline += [name for name in given if name == "style" or name.startswith("on")]
        self._script = tag in {"script", "style"}

    def handle_endtag(self, tag):
        self._script = False

    def handle_data(self, data):
        if self._script and data.strip():
            self.inline.append(data)


def test_the_page_names_only_its_own_files_and_holds_no_script_or_style():
    page = _References()
    page.feed((ASSETS / "index.html").read_text(encoding="utf-8"))
    assert page.inline == []
    for reference in page.found:
        assert reference.startswith("#") or (ASSETS / reference.removeprefix("assets/")).is_file(), reference


def test_no_file_of_the_page_turns_text_into_markup_or_names_another_host():
    for file in ASSETS.glob("*.js"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write\b|\beval\(|DOMParser|localStorage|\bFunction\(",
            text,
        ), file
        for name in re.findall(r'(?:from|import) "(.+?)"', text):
            assert (ASSETS / name).is_file(), name
    for file in ASSETS.iterdir():
        hosts = set(re.findall(r"(?:https?:)?//([\w.-]+\.\w+)", file.read_text(encoding="utf-8")))
        assert hosts <= {"www.w3.org"}, file  # the name of a vocabulary, not a place


def test_no_file_of_the_page_is_longer_than_the_budget():
    assert {
        file.name for file in ASSETS.iterdir() if len(file.read_text(encoding="utf-8").splitlines()) > 500
    } == set()


# -- what it knows


async def test_the_desk_is_asked_anew_each_time(client, desk):
    desk.begin()
    for path, expected in (
        ("/api/status", desk.status()),
        ("/api/tools", desk.tools()),
        ("/api/calls", desk.calls()),
    ):
        answer = await client.ask(path)
        assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
        assert answer.headers["cache-control"] == "no-store"
        assert answer.json == expected
    desk.begin()
    assert len((await client.ask("/api/calls")).json) == 2


async def test_what_has_not_changed_is_not_sent_twice(client, desk, desks):
    etag = (await client.ask("/api/tools")).headers["etag"]
    assert (await client.ask("/api/tools", If_None_Match=etag)).status == 304
    desk.tool_list.append(desks.a_tool("kb", "other"))
    again = await client.ask("/api/tools", If_None_Match=etag)
    assert (again.status, len(again.json)) == (200, 3)


async def test_half_a_character_in_a_description_still_arrives(client, desk, desks):
    desk.tool_list = [
        desks.a_tool(published={"name": "search", "description": "broken \ud83d text", "big": 10**30})
    ]
    told = (await client.ask("/api/tools")).json[0]["published"]
    assert (told["description"], told["big"]) == ("broken \ud83d text", 10**30)


# -- events


async def test_a_stream_begins_with_what_is_known(client, desk):
    first, second = desk.begin(), desk.begin()
    async with client.events() as events:
        assert events.answer.headers["content-type"] == "text/event-stream"
        assert events.answer.headers["cache-control"] == "no-store"
        assert "content-security-policy" in events.answer.headers
        assert await events.news() == {"calls": [first, second], "skipped": 0, "status": True}


async def test_calls_and_changes_are_told_as_they_happen(client, desk):
    async with client.events() as events:
        await events.news()
        call = desk.begin()
        assert await events.until_call(call["id"], "running") == call
        ended = desk.end(call, "error", code="TIMEOUT")
        assert await events.until_call(call["id"], "error") == ended
        desk.changed()
        while not (await events.news())["status"]:
            pass


async def test_a_silent_stream_says_that_it_is_alive(client, desk, monkeypatch):
    monkeypatch.setattr("awf.interfaces.web.events.KEEP_ALIVE_SECONDS", 0.02)
    async with client.events() as events:
        await events.news()
        assert (await events.message()).startswith(":")
        assert (await events.message()).startswith(":")


async def test_nothing_watches_for_a_client_that_has_left(client, desk, server):
    async with client.events() as events:
        await events.news()
        assert len(desk.watches) == 1
    await until(lambda: not desk.watches)
    assert server.failures == []


async def test_the_stream_ends_with_the_gateway(client, desk):
    async with client.events() as events:
        await events.news()
        desk.tell(None)
        with pytest.raises(EOFError):
            await events.news()
    await until(lambda: not desk.watches)


async def test_a_watch_that_breaks_cuts_the_stream_and_is_closed(client, desk, server):
    async with client.events() as events:
        await events.news()
        desk.tell(RuntimeError("broken"))
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await events.news()
    await until(lambda: not desk.watches)
    assert [str(one) for one in server.failures] == ["broken"]


async def test_closing_the_server_ends_its_streams(client, desk, server):
    async with client.events() as events:
        await events.news()
        await server.close(0.0)
    assert desk.watches == []


async def test_a_slow_reader_gets_the_newest_calls_and_the_number_of_the_others(client, desk, monkeypatch):
    monkeypatch.setattr("awf.interfaces.web.events.GAP_SECONDS", 0)  # only the reader is slow
    async with client.events() as events:
        await events.news()
        padding = "x" * 10_000
        transport = events.writer.transport
        transport.pause_reading()
        total = 0
        watch = desk.watches[0]
        for _ in range(40):  # far more than sockets hold
            for _ in range(100):
                desk.tell({"type": "call", "call": {"id": str(total), "outcome": "ok", "client": padding}})
                total += 1
            await until(lambda: watch.taken >= total)
        transport.resume_reading()
        told, skipped = set(), 0
        while str(total - 1) not in told:
            news = await events.news()
            assert len(news["calls"]) <= 500
            told |= {call["id"] for call in news["calls"]}
            skipped += news["skipped"]
        assert skipped > 0
        assert len(told) + skipped == total
