"""What the gateway's file says of its door, and what may not be said."""

from __future__ import annotations

import msgspec
import pytest

from awf.domain.gateway_file import (
    GatewayFile,
    GatewayServer,
    Listen,
    ListenOAuth,
    is_loopback,
    load_values,
    problems_in,
)
from awf.domain.value_source import Sources

SERVERS = {"kb": GatewayServer(url="http://127.0.0.1:9000/mcp")}
OAUTH = ListenOAuth(issuer="https://login.example.org/t", audience="gateway")


def nothing(name: str) -> str:
    raise FileNotFoundError(2, "No such file or directory", name)


def found(**listen) -> list[tuple]:
    problems = problems_in(GatewayFile(servers=SERVERS, listen=Listen(**listen)))
    assert all(problem.hint for problem in problems)
    return [(problem.code.removeprefix("USER.GATEWAY."), problem.path[1:]) for problem in problems]


def oauth(**fields) -> ListenOAuth:
    return msgspec.structs.replace(OAUTH, **fields)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "10.0.0.1", "gateway.example.org"])
def test_an_authorization_server_guards_a_door_for_others(host):
    assert found(host=host, oauth=OAUTH) == []
    assert found(host=host) == [("OPEN_DOOR", ("host",))]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"jwks_url": "https://keys.example.org/k?v=1"},
        {"jwks_file": "keys.json"},
        {"scopes": ["a", "b:c", "https://x/y.z"]},
        {"issuer": "http://127.0.0.1:9/t"},
        {"issuer": "http://localhost:9"},
        {"issuer": "http://[::1]:9"},
        {"issuer": "${env:ISSUER}", "audience": "${env:AUD}", "scopes": ["${env:SCOPE}"]},
        {"resource": "http://gw.example.org:8931/mcp"},
    ],
)
def test_a_sound_authorization_server_is_no_problem(fields):
    assert found(oauth=oauth(**fields)) == []


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"issuer": ""}, "INVALID_FILE", ("issuer",)),
        ({"issuer": "login.example.org"}, "INVALID_FILE", ("issuer",)),
        ({"issuer": "http://login.example.org"}, "INVALID_FILE", ("issuer",)),
        ({"issuer": "http://127.0.0.1.example.org"}, "INVALID_FILE", ("issuer",)),
        ({"issuer": "https://a@login.example.org"}, "INVALID_FILE", ("issuer",)),
        ({"issuer": "https://login.example.org?x=1"}, "INVALID_FILE", ("issuer",)),
        ({"issuer": "https://login.example.org#x"}, "INVALID_FILE", ("issuer",)),
        ({"issuer": 'https://login.example.org/"'}, "INVALID_FILE", ("issuer",)),
        ({"issuer": "https://login.example.org/\r\nx"}, "INVALID_FILE", ("issuer",)),
        ({"issuer": "https://login.example.org:99999"}, "INVALID_FILE", ("issuer",)),
        ({"issuer": "https://["}, "INVALID_FILE", ("issuer",)),
        ({"issuer": "https://"}, "INVALID_FILE", ("issuer",)),
        ({"jwks_url": "http://keys.example.org"}, "INVALID_FILE", ("jwks_url",)),
        ({"jwks_url": "file:///keys"}, "INVALID_FILE", ("jwks_url",)),
        ({"audience": " "}, "OPEN_DOOR", ("audience",)),
        ({"jwks_url": "https://k.example.org", "jwks_file": "k"}, "INVALID_FILE", ("jwks_file",)),
        ({"jwks_file": " "}, "INVALID_FILE", ("jwks_file",)),
        ({"scopes": ["a", ""]}, "INVALID_FILE", ("scopes", 1)),
        ({"scopes": ["a b"]}, "INVALID_FILE", ("scopes", 0)),
        ({"scopes": ['a"']}, "INVALID_FILE", ("scopes", 0)),
        ({"resource": "gateway"}, "INVALID_FILE", ("resource",)),
        ({"resource": 'https://x/"'}, "INVALID_FILE", ("resource",)),
    ],
)
def test_what_cannot_be_trusted_about_an_authorization_server_is_told_by_its_key(fields, code, field):
    assert found(oauth=oauth(**fields)) == [(code, ("oauth", *field))]


def test_an_empty_address_of_keys_is_not_taken_for_none():
    assert found(oauth=oauth(jwks_url="")) == [("INVALID_FILE", ("oauth", "jwks_url"))]


@pytest.mark.parametrize(
    "host", ["*", "https://a.example.org", "a/b", "", "a b", "a:x", "*.example.org", "a:123456"]
)
def test_an_allowed_host_is_a_name(host):
    assert found(allowed_hosts=["ok.example.org:1", "[::1]:5", host]) == [
        ("INVALID_FILE", ("allowed_hosts", 2))
    ]


@pytest.mark.parametrize(
    "origin",
    [
        "*",
        "null",
        "example.org",
        "https://example.org/",
        "https://*.example.org",
        "https://a@b",
        "",
        "https://",
    ],
)
def test_an_allowed_origin_is_that_of_one_page(origin):
    origins = ["https://example.org", "vscode-webview://abc", "http://localhost:3000", origin]
    assert found(allowed_origins=origins) == [("INVALID_FILE", ("allowed_origins", 3))]


def test_references_of_an_authorization_server_are_filled_in():
    file = GatewayFile(
        servers=SERVERS, listen=Listen(oauth=oauth(issuer="${env:ISSUER}", scopes=["${env:S}"]))
    )
    loaded = load_values(file, Sources({"ISSUER": "https://a.example.org", "S": "read"}, nothing))
    assert loaded.problems == []
    assert loaded.file.listen.oauth == oauth(issuer="https://a.example.org", scopes=["read"])
    (problem, _) = load_values(file, Sources({}, nothing)).problems
    assert problem.path == ("listen", "oauth", "issuer")


@pytest.mark.parametrize("value", ["http://evil.example.org", "hunter2", ""])
def test_a_value_that_spoils_the_authorization_server_is_refused_without_being_told(value):
    file = GatewayFile(servers=SERVERS, listen=Listen(oauth=oauth(issuer="${env:ISSUER}")))
    (problem,) = load_values(file, Sources({"ISSUER": value}, nothing)).problems
    assert problem.path == ("listen", "oauth", "issuer")
    assert not value or value not in f"{problem.message} {problem.hint}"


@pytest.mark.parametrize("token", ["two words", "line\nbreak", "ümlaut", " padded"])
def test_a_token_that_no_header_can_carry_is_refused_without_being_told(token):
    file = GatewayFile(servers=SERVERS, listen=Listen(tokens=["${env:T}"]))
    (problem,) = load_values(file, Sources({"T": token}, nothing)).problems
    assert (problem.code, problem.path) == ("USER.GATEWAY.INVALID_FILE", ("listen", "tokens", 0))
    assert token not in str(problem)


def test_a_door_says_in_short_what_guards_it():
    assert repr(Listen(tokens=["s3cret"], oauth=OAUTH)) == (
        "Listen(127.0.0.1:8931, 1 tokens, tokens of https://login.example.org/t)"
    )
    assert not Listen().needs_token
    assert Listen(oauth=OAUTH).needs_token
    assert Listen(tokens=["t"]).needs_token


def test_only_this_machine_is_loopback():
    assert [
        host for host in ("localhost", "127.1.2.3", "[::1]", "0.0.0.0", "::", "", "a") if is_loopback(host)
    ] == ["localhost", "127.1.2.3", "[::1]"]
