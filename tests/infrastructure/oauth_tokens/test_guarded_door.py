"""The whole door over real sockets: a configuration file, an authorization server, a gateway that says who came in."""

from __future__ import annotations

import asyncio
import json
import re
import time

import pytest

from awf.application.gateway.admission import Admission, Caller
from awf.domain.ports.http_server import HttpReply
from awf.infrastructure.expressions import ExpressionLanguage
from awf.infrastructure.gateway_files import load_gateway
from awf.infrastructure.http_server import LeanHttpServer
from awf.infrastructure.oauth_tokens import verifier_for
from awf.infrastructure.yaml_files.config_file import read_record
from awf.infrastructure.yaml_files.nodes import parse_yaml

FILE = """\
mcpServers: {kb: {url: "http://127.0.0.1:9000/mcp"}}
listen:
  port: 0
  tokens: ["${env:GATEWAY_TOKEN}"]
  oauth: {issuer: "${env:ISSUER}", audience: gateway, scopes: [tools]}
"""


@pytest.fixture
async def gateway(site, http, tmp_path):
    """A function that asks the gateway, which answers with who came in."""
    (tmp_path / "gateway.yaml").write_text(FILE, encoding="utf-8")
    environment = {"ISSUER": site.url, "GATEWAY_TOKEN": "t-0123456789"}
    path = str(tmp_path / "gateway.yaml")
    loaded, _ = load_gateway(
        path, read=read_record, parse=parse_yaml, environment=environment, conditions=ExpressionLanguage()
    )
    listen = loaded.file.listen
    doors = []

    async def handle(request):
        who = await doors[0].admit(request)
        if not isinstance(who, Caller):
            return who
        busy = doors[0].acquire()
        if busy is not None:
            return busy
        try:
            return HttpReply(body=f"{who.subject} {sorted(who.scopes)}".encode())
        finally:
            doors[0].release()

    server = LeanHttpServer(handle)
    port = await server.listen_tcp(listen.host, listen.port)
    verifier = verifier_for(listen.oauth, http, str(tmp_path))
    doors.append(Admission(listen, [f"{listen.host}:{port}"], verifier, time.monotonic))
    await server.listen_unix(str(tmp_path / "s"))

    async def ask(method="POST", path="/mcp", **headers):
        url = f"http://127.0.0.1:{port}{path}"
        async with asyncio.timeout(60):
            answer = await http.send(method, url, headers=headers)
            async with answer:
                return answer.status, answer.headers, (await answer.body(10_000)).decode()

    ask.unix = str(tmp_path / "s")
    yield ask
    await server.close(0.0)


@pytest.fixture
def bearer(issuing, site):
    """A function that gives the header with a token of the authorization server."""
    key = issuing.key_for("ES256")
    site.documents["/.well-known/oauth-authorization-server"] = {
        "issuer": site.url,
        "jwks_uri": f"{site.url}/k",
    }
    site.documents["/k"] = json.loads(issuing.key_set(key))

    def header(**claims):
        claims = {
            "iss": site.url,
            "aud": "gateway",
            "exp": time.time() + 60,
            "iat": None,
            "scope": "tools",
            **claims,
        }
        return f"Bearer {key.token('ES256', **claims)}"

    return header


async def test_a_client_finds_its_way_from_the_refusal_to_the_issuer_and_in(gateway, bearer, site):
    status, headers, _ = await gateway()
    assert status == 401
    (url,) = re.findall(r'resource_metadata="([^"]+)"', headers["www-authenticate"])
    status, _, text = await gateway("GET", "/" + url.split("/", 3)[3])
    document = json.loads(text)
    assert (status, document["authorization_servers"]) == (200, [site.url])
    assert document["resource"] == url.replace("/.well-known/oauth-protected-resource", "")
    assert (await gateway(Authorization=bearer()))[2] == "ann ['tools']"
    assert (await gateway(Authorization=bearer(sub="bob")))[2] == "bob ['tools']"
    assert site.asked["/k"] == 1


async def test_a_program_without_a_person_comes_in_under_a_name_of_programs(gateway, bearer):
    assert (await gateway(Authorization=bearer(sub=None, client_id="ann")))[2] == "client:ann ['tools']"


async def test_a_token_of_the_file_opens_the_same_door(gateway):
    status, _, told = await gateway(Authorization="Bearer t-0123456789")
    assert status == 200
    assert re.fullmatch(r"token:[0-9a-f]{12} \[\]", told)


async def test_wrong_tokens_get_the_answers_that_clients_understand(gateway, bearer):
    answers = [
        await gateway(Authorization=bearer(**claims))
        for claims in ({"aud": "another"}, {"exp": 1}, {"scope": "other"})
    ]
    assert [status for status, _, _ in answers] == [401, 401, 403]
    said = [re.findall(r'error="(\w+)"', headers["www-authenticate"]) for _, headers, _ in answers]
    assert said == [["invalid_token"], ["invalid_token"], ["insufficient_scope"]]


async def test_while_the_issuer_is_away_nobody_is_told_that_the_token_is_bad(gateway, bearer, site):
    await site.server.close(0.0)
    status, headers, text = await gateway(Authorization=bearer())
    assert (status, headers["retry-after"]) == (503, "5")
    assert json.loads(text)["error"]["data"]["code"] == "ISSUER_UNREACHABLE"


async def test_another_host_or_page_is_refused_even_with_a_token(gateway):
    token = "Bearer t-0123456789"
    assert (await gateway(Authorization=token, Host="rebound.example.org"))[0] == 403
    assert (await gateway(Authorization=token, Origin="https://evil.example.org"))[0] == 403
    assert (await gateway("GET", "/healthz"))[0] == 200


async def test_a_unix_socket_needs_no_token(gateway):
    async with asyncio.timeout(60):
        reader, writer = await asyncio.open_unix_connection(gateway.unix)
        writer.write(
            b"POST /mcp HTTP/1.1\r\nHost: whatever\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
    assert answer.startswith(b"HTTP/1.1 200")
