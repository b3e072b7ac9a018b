"""Tokens for servers that want them: fetched, kept, shared, replaced, and refused."""

from __future__ import annotations

import asyncio
import base64
from urllib.parse import parse_qs

import pytest

from awf.domain.errors import AwfError
from awf.domain.mcp_server import McpOAuth
from awf.infrastructure.http_client import LeanHttpClient
from awf.infrastructure.upstreams.failures import ServerFault
from awf.infrastructure.upstreams.oauth import ClientCredentials, client_credentials
from awf.infrastructure.upstreams.oauth.token_answer import token_in

SECRET = "s e:cret/+"


class TokenServer:
    """Gives t1, t2, … in turn. `post`: it looks for the secret in the form only. `special`: answers given instead."""

    def __init__(self, web, *, lifetime=3600, post=False, special=()):
        self.web = web
        self.lifetime = lifetime
        self.post = post
        self.special = list(special)
        self.forms = []
        self.given = 0

    async def __call__(self, request, _):
        form = {key: value[0] for key, value in parse_qs(request.body.decode()).items()}
        self.forms.append((form, request.headers))
        if self.special:
            return self.special.pop(0)
        knows_us = (
            form.get("client_secret") == SECRET if self.post else _basic(request.headers) == ["me", SECRET]
        )
        if not knows_us:
            return self.web.as_json({"error": "invalid_client"}, 401)
        self.given += 1
        more = {} if self.lifetime is None else {"expires_in": self.lifetime}
        return self.web.as_json({"access_token": f"t{self.given}", "token_type": "bearer", **more})


def _basic(headers):
    from urllib.parse import unquote_plus

    kind, _, value = headers.get("authorization", "").partition(" ")
    pair = base64.b64decode(value).decode() if kind == "Basic" else ""
    return [unquote_plus(part) for part in pair.split(":")]


@pytest.fixture
async def credentials(serve):
    """A function that gives credentials at this token server."""
    http = LeanHttpClient()

    async def at(server, **more):
        site = await serve(server)
        return ClientCredentials(http, site.url, "me", SECRET, name="web", **more)

    yield at
    await http.close()


async def test_a_token_is_fetched_once_and_kept(web, credentials):
    server = TokenServer(web)
    ours = await credentials(server, scope="a b", resource="https://x/mcp")

    assert [await ours.token() for _ in range(3)] == ["t1"] * 3
    (form, headers), *more = server.forms
    assert more == []
    assert form == {"grant_type": "client_credentials", "scope": "a b", "resource": "https://x/mcp"}
    assert headers["content-type"] == "application/x-www-form-urlencoded"


async def test_a_token_is_told_before_it_is_used(web, credentials):
    told = []
    ours = await credentials(TokenServer(web), on_token=told.append)

    assert [await ours.token(), await ours.token(), await ours.token(refresh=True)] == ["t1", "t1", "t2"]
    assert told == ["t1", "t2"]


async def test_callers_at_the_same_time_share_one_request(web, credentials):
    server = TokenServer(web)
    ours = await credentials(server)

    assert await asyncio.gather(*(ours.token() for _ in range(20))) == ["t1"] * 20
    assert await asyncio.gather(*(ours.authorization(True) for _ in range(20))) == ["Bearer t2"] * 20
    assert len(server.forms) == 2


async def test_callers_at_the_same_time_share_one_failure(web, credentials):
    server = TokenServer(web, special=[web.as_json({"error": "invalid_scope"}, 400)])
    ours = await credentials(server)

    found = await asyncio.gather(*(ours.token() for _ in range(5)), return_exceptions=True)

    assert {str(type(one)) for one in found} == {str(ServerFault)}
    assert len(server.forms) == 1
    assert await ours.token() == "t1"


async def test_a_cancelled_caller_does_not_take_the_others_along(web, credentials):
    began, go_on = asyncio.Event(), asyncio.Event()
    server = TokenServer(web)

    async def slow(request, writer):
        began.set()
        await go_on.wait()
        return await server(request, writer)

    ours = await credentials(slow)
    loop = asyncio.get_running_loop()
    first, second = loop.create_task(ours.token()), loop.create_task(ours.token())
    await began.wait()
    first.cancel()
    await asyncio.wait([first])
    go_on.set()

    assert await second == f"t{server.given}"


async def test_a_token_is_replaced_shortly_before_its_end(web, credentials, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(client_credentials, "_now", lambda: now[0])
    ours = await credentials(TokenServer(web, lifetime=3600))
    seen = []
    for now[0] in (1000.0, 1000.0 + 3539, 1000.0 + 3541):
        seen.append(await ours.token())

    assert seen == ["t1", "t1", "t2"]


async def test_a_token_without_an_end_is_kept_until_it_is_refused(web, credentials, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(client_credentials, "_now", lambda: now[0])
    ours = await credentials(TokenServer(web, lifetime=None))
    first = await ours.token()
    now[0] = 1e9

    assert (first, await ours.token(), await ours.token(refresh=True)) == ("t1", "t1", "t2")


async def test_a_server_that_looks_for_the_secret_in_the_form_gets_it_there(web, credentials):
    server = TokenServer(web, post=True)
    ours = await credentials(server)

    assert (await ours.token(), await ours.token(refresh=True)) == ("t1", "t2")
    assert ["client_secret" in form for form, _ in server.forms] == [False, True, True]
    assert "authorization" not in server.forms[1][1]


@pytest.mark.parametrize(
    ("answers", "code", "words"),
    [
        ([(401, {"error": "invalid_client"})] * 2, "DENIED", "HTTP 401, invalid_client"),
        (
            [(400, {"error": "invalid_scope", "error_description": "no\nsuch"})],
            "DENIED",
            "invalid_scope: no such",
        ),
        (
            [(400, {"error": "invalid_grant", "error_description": f"not {SECRET}!"})],
            "DENIED",
            r"not \*\*\*!",
        ),
        ([(403, "x")], "DENIED", "HTTP 403"),
        ([(503, {})], "UNAVAILABLE", "HTTP 503"),
        ([(429, {})], "UNAVAILABLE", "HTTP 429"),
        ([(404, {})], "PROTOCOL", "HTTP 404"),
        ([(302, {})], "PROTOCOL", "HTTP 302"),
        ([(200, {"token_type": "bearer"})], "PROTOCOL", "no usable token"),
        ([(200, {"access_token": "a\r\nb"})], "PROTOCOL", "no usable token"),
        ([(200, [1])], "PROTOCOL", "no usable token"),
        ([(200, {"access_token": "a", "token_type": "mac"})], "PROTOCOL", "'mac'"),
    ],
)
async def test_a_refusal_says_why_and_never_the_secret(web, credentials, answers, code, words):
    server = TokenServer(web, special=[web.as_json(body, status) for status, body in answers])
    ours = await credentials(server)

    with pytest.raises(AwfError, match=words) as caught:
        await ours.token()
    assert caught.value.code == f"EXECUTION.MCP_SERVER.{code}"
    assert 'MCP server "web"' in caught.value.message
    assert SECRET not in f"{caught.value.message}{caught.value.hint}"


async def test_a_token_server_that_is_not_there_is_said():
    http = LeanHttpClient()
    ours = ClientCredentials(http, "http://127.0.0.1:1/token?key=k", "me", SECRET, name="web")

    with pytest.raises(AwfError, match=r"127\.0\.0\.1:1/token cannot be reached") as caught:
        await ours.token()
    assert caught.value.code == "EXECUTION.MCP_SERVER.UNAVAILABLE"
    assert "key=k" not in caught.value.message


@pytest.mark.parametrize(
    ("said", "lifetime"), [("60", 60.0), (60.5, 60.5), (-1, 0.0), (None, None), (True, None), ("soon", None)]
)
def test_lifetimes_are_read_as_servers_write_them(said, lifetime):
    import json

    assert token_in("x", json.dumps({"access_token": "a", "expires_in": said}).encode()).lifetime == lifetime


@pytest.fixture
def guarded(web, serve, at):
    """A function that opens an MCP server which takes only some tokens, as given out by a token server."""

    async def start(mcp, accepted, server=None, path="", **config):
        server = server or TokenServer(web)

        async def guard(request, writer):
            if request.headers.get("authorization") not in accepted:
                return web.whole(401)
            return await mcp(request, writer)

        tokens = await serve(server)
        oauth = McpOAuth(token_url=tokens.url, client_id="me", client_secret=SECRET)
        site = await serve(guard)
        return server, site, at(site.url, oauth=oauth, **config)

    return start


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_server_gets_its_token_with_every_request(web, guarded, context, era):
    tokens, site, tools = await guarded(web.McpWeb(era), {"Bearer t1"})

    assert (await tools.call_tool("echo", {"n": 1}, context)).text == '{"n": 1}'
    assert {request.headers["authorization"] for request in site.requests} == {"Bearer t1"}
    assert len(tokens.forms) == 1


async def test_a_refused_token_is_replaced_once_and_the_request_sent_again(web, guarded, context):
    accepted = {"Bearer t1"}
    tokens, site, tools = await guarded(web.McpWeb("modern"), accepted)
    await tools.call_tool("echo", {}, context)
    accepted.symmetric_difference_update({"Bearer t1", "Bearer t2"})

    assert (await tools.call_tool("echo", {"n": 2}, context)).text == '{"n": 2}'
    assert [request.headers["authorization"] for request in site.requests][-2:] == ["Bearer t1", "Bearer t2"]
    assert len(tokens.forms) == 2


async def test_a_server_that_takes_no_token_at_all_is_not_asked_for_ever(web, guarded):
    tokens, site, tools = await guarded(web.McpWeb("modern"), set())

    with pytest.raises(AwfError, match="wants credentials") as caught:
        await tools.list_tools()
    assert caught.value.code == "EXECUTION.MCP_SERVER.DENIED"
    assert (len(site.requests), len(tokens.forms)) == (2, 2)


async def test_a_refusal_of_the_token_server_reaches_whoever_asks_for_tools(web, guarded):
    server = TokenServer(web, special=[web.as_json({"error": "unauthorized_client"}, 400)])
    _, site, tools = await guarded(web.McpWeb("modern"), set(), server)

    with pytest.raises(AwfError, match="unauthorized_client") as caught:
        await tools.list_tools()
    assert "client_credentials" in caught.value.hint
    assert site.requests == []
