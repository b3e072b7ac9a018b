"""Tokens, scopes and limits at the gateway's door."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from awf.application.gateway.admission import Caller, protected_resource
from awf.application.gateway.admission.rate import RateLimit
from awf.domain.gateway_file import ListenOAuth
from awf.domain.ports.token_verifier import IssuerUnreachable, TokenRefused, VerifiedToken

ISSUER = "https://login.example.org"
OAUTH = ListenOAuth(issuer=ISSUER, audience="gateway", scopes=["tools", "read", "tools"])


class Verifier:
    """Knows tokens by heart; an exception in place of one is raised."""

    def __init__(self, **known):
        self.known = known
        self.asked = []

    async def verify(self, token):
        self.asked.append(token)
        found = self.known.get(token, TokenRefused("it is unknown"))
        if isinstance(found, Exception):
            raise found
        return found


def good(subject="ann", client="agent", scopes=("tools", "read")):
    return VerifiedToken(subject, client, frozenset(scopes), 2e9)


def challenge(reply):
    """The parameters of the header that says what is wanted."""
    text = dict(reply.headers)["WWW-Authenticate"]
    assert text.startswith("Bearer ")
    return dict(re.findall(r'(\w+)="([^"]*)"', text))


# -- tokens of the file --------------------------------------------------------------------------------------------


async def test_each_token_of_the_file_is_a_caller_of_its_own(door, asks):
    guarded = door(tokens=["alpha", "beta"])
    callers = [
        await guarded.admit(asks(client="10.0.0.9", authorization=f"{scheme} {token}"))
        for scheme, token in (("Bearer", "alpha"), ("bearer ", "beta"), ("BEARER", "alpha"))
    ]
    assert callers[0].subject == callers[2].subject != callers[1].subject
    assert all(re.fullmatch("token:[0-9a-f]{12}", caller.subject) for caller in callers)
    assert callers[0].key == callers[2].key != callers[1].key
    assert callers[0].address == "10.0.0.9"
    assert callers[0].scopes == frozenset()


async def test_a_token_is_known_by_its_name_or_by_what_it_is_and_never_by_its_place(door, asks):
    """Whoever takes the first token out of the file must not hand its grants and its past on to the second."""

    async def subjects(*tokens, key=b"kept in the storage", given=None):
        guarded = door(tokens=given or list(tokens), naming_key=key)
        asked = given.values() if given else tokens
        return [(await guarded.admit(asks(authorization=f"Bearer {token}"))).subject for token in asked]

    first, second = await subjects("alpha", "beta")
    assert await subjects("beta") == [second]
    assert await subjects("gamma", "beta", "alpha") == [(await subjects("gamma"))[0], second, first]
    assert await subjects("alpha", key=b"another storage") != [first]
    assert await subjects(given={"ci": "alpha", "desk": "beta"}) == ["token:ci", "token:desk"]
    assert await subjects(given={"desk": "alpha"}) == ["token:desk"]


async def test_nobody_is_taken_for_a_token_because_of_what_an_issuer_calls_them(door, asks):
    names = ("token:ci", "oauth:token:ci", "oauth:", "ann")
    people = {f"t{at}": good(subject=name) for at, name in enumerate(names)}
    guarded = door(tokens={"ci": "alpha"}, oauth=OAUTH, verifier=Verifier(**people))
    subjects = [
        (await guarded.admit(asks(authorization=f"Bearer {token}"))).subject for token in (*people, "alpha")
    ]
    assert subjects == ["oauth:token:ci", "oauth:oauth:token:ci", "oauth:oauth:", "ann", "token:ci"]


async def test_a_program_that_speaks_for_itself_is_not_taken_for_a_person_of_its_name(door, asks):
    told = [
        good("ann", "agent"),
        good("", "ann"),
        good("client:ann", "agent"),
        good("oauth:client:ann", "agent"),
    ]
    guarded = door(oauth=OAUTH, verifier=Verifier(**{f"t{at}": one for at, one in enumerate(told)}))
    callers = [await guarded.admit(asks(authorization=f"Bearer t{at}")) for at in range(len(told))]
    assert [one.subject for one in callers] == [
        "ann",
        "client:ann",
        "oauth:client:ann",
        "oauth:oauth:client:ann",
    ]


async def test_the_key_of_a_caller_stays_when_the_file_lists_tokens_in_another_order(door, asks):
    request = asks(authorization="Bearer alpha")
    before, after = door(tokens=["alpha", "beta"]), door(tokens=["beta", "alpha"])
    assert (await before.admit(request)).key == (await after.admit(request)).key


@pytest.mark.parametrize(
    "sent",
    ["", "alpha", "Basic alpha", "Bearer", "Bearer ", "Token alpha", "Bearer alpha beta", "Bearer al\npha", "Bearer älpha"],
)  # fmt: skip
async def test_a_request_without_a_token_is_told_how_to_send_one(door, asks, error_in, sent):
    reply = await door(tokens=["alpha"]).admit(asks(authorization=sent))
    status, code, text = error_in(reply)
    assert (status, code) == (401, "TOKEN_MISSING")
    assert "Authorization: Bearer" in text
    assert challenge(reply) == {"realm": "awf"}


@pytest.mark.parametrize("sent", ["alph", "alphab", "ALPHA", "alpha.", "x" * 60000])
async def test_a_wrong_token_is_refused_and_not_repeated(door, asks, error_in, sent):
    reply = await door(tokens=["alpha"]).admit(asks(authorization=f"Bearer {sent}"))
    assert error_in(reply)[:2] == (401, "TOKEN_INVALID")
    assert challenge(reply)["error"] == "invalid_token"
    assert f"“{sent}”" not in str(reply)
    assert sent not in str(reply)


async def test_a_token_in_the_address_is_not_read(door, asks, error_in):
    reply = await door(tokens=["alpha"]).admit(asks(query={"access_token": "alpha"}))
    status, code, text = error_in(reply)
    assert (status, code) == (401, "TOKEN_MISSING")
    assert "in the address is not read" in text
    assert "alpha" not in str(reply)


@pytest.mark.parametrize(
    "path", ["/mcp", "/mcp/dev", "/sse", "/", "/metrics", "/healthz/", "/healthz/../mcp", "//healthz"]
)
async def test_everything_but_the_health_wants_the_token(door, asks, path):
    guarded = door(tokens=["alpha"], rate=1.0)
    assert (await guarded.admit(asks("GET", path))).status == 401


async def test_the_health_is_for_everyone_and_not_limited(door, asks):
    guarded = door(tokens=["alpha"], rate=1.0)
    for _ in range(5):
        for path in ("/healthz", "/readyz"):
            caller = await guarded.admit(asks("GET", path, client="10.0.0.1"))
            assert (caller.subject, caller.address) == ("", "10.0.0.1")
    assert (await guarded.admit(asks("GET", "/healthz", host="evil.example.org"))).status == 403


# -- tokens of an authorization server -----------------------------------------------------------------------------


async def test_a_good_token_gives_its_owner_and_scopes(door, asks):
    guarded = door(oauth=OAUTH, verifier=Verifier(jwt=good(scopes=["tools", "read", "more"])))
    caller = await guarded.admit(asks(authorization="Bearer jwt"))
    assert (caller.subject, caller.scopes) == ("ann", {"tools", "read", "more"})


async def test_two_programs_and_two_people_never_share_a_key(door, asks):
    people = {
        "a": good("x", "y:1:z"),
        "b": good("z:x", "y:1"),
        "c": good("x", ""),
        "d": good("", "x"),
        "e": good("y", "x"),
    }
    guarded = door(oauth=OAUTH, verifier=Verifier(**people))
    keys = [(await guarded.admit(asks(authorization=f"Bearer {name}"))).key for name in people]
    assert len(set(keys)) == len(people)


async def test_a_token_of_the_file_does_not_reach_the_authorization_server(door, asks):
    verifier = Verifier(jwt=good())
    guarded = door(tokens=["alpha"], oauth=OAUTH, verifier=verifier)
    assert (await guarded.admit(asks(authorization="Bearer alpha"))).subject.startswith("token:")
    assert verifier.asked == []
    assert (await guarded.admit(asks(authorization="Bearer jwt"))).subject == "ann"


async def test_a_refused_token_says_why_and_where_to_get_a_good_one(door, asks, error_in):
    reply = await door(oauth=OAUTH, verifier=Verifier()).admit(
        asks(path="/mcp/dev", authorization="Bearer s3cret")
    )
    assert error_in(reply) == (401, "TOKEN_INVALID", "The token is not accepted: it is unknown.")
    assert challenge(reply) == {
        "realm": "awf",
        "error": "invalid_token",
        "error_description": "it is unknown",
        "resource_metadata": "http://127.0.0.1:8931/.well-known/oauth-protected-resource/mcp/dev",
        "scope": "tools read",
    }
    assert "s3cret" not in str(reply)


async def test_without_a_token_the_challenge_names_no_error(door, asks):
    reply = await door(oauth=OAUTH, verifier=Verifier()).admit(asks())
    assert challenge(reply) == {
        "realm": "awf",
        "resource_metadata": "http://127.0.0.1:8931/.well-known/oauth-protected-resource/mcp",
        "scope": "tools read",
    }


async def test_all_missing_scopes_are_named_at_once(door, asks, error_in):
    guarded = door(oauth=OAUTH, verifier=Verifier(jwt=good(scopes=["other"])))
    reply = await guarded.admit(asks(authorization="Bearer jwt"))
    assert error_in(reply)[:2] == (403, "SCOPE_MISSING")
    assert json.loads(reply.body)["error"]["data"]["missing"] == ["tools", "read"]
    said = challenge(reply)
    assert (said["error"], said["scope"]) == ("insufficient_scope", "tools read")


async def test_more_scopes_can_be_asked_for_once_a_caller_is_in(door, asks, error_in):
    guarded = door(oauth=OAUTH, verifier=Verifier(jwt=good()))
    request = asks(authorization="Bearer jwt")
    caller = await guarded.admit(request)
    assert guarded.require(request, caller, ["read"]) is None
    reply = guarded.require(request, caller, ["write", "admin", "read"])
    assert error_in(reply)[:2] == (403, "SCOPE_MISSING")
    assert json.loads(reply.body)["error"]["data"]["missing"] == ["admin", "write"]
    assert challenge(reply)["scope"] == "tools read admin write"


async def test_an_issuer_that_is_away_is_not_the_fault_of_the_token(door, asks, error_in):
    guarded = door(
        oauth=OAUTH, verifier=Verifier(jwt=IssuerUnreachable("https://login.example.org: no route"))
    )
    reply = await guarded.admit(asks(authorization="Bearer jwt"))
    assert error_in(reply)[:2] == (503, "ISSUER_UNREACHABLE")
    assert "Retry-After" in dict(reply.headers)
    assert "no route" not in str(reply)


def test_tokens_of_an_authorization_server_need_somebody_to_check_them(door):
    with pytest.raises(ValueError, match="verifier"):
        door(oauth=OAUTH)


@pytest.mark.parametrize("path", ["", "/", "/mcp", "/mcp/dev", "/sse"])
async def test_where_tokens_are_given_out_can_be_read_without_one(door, asks, path):
    guarded = door(oauth=OAUTH, verifier=Verifier())
    reply = await guarded.admit(asks("GET", f"/.well-known/oauth-protected-resource{path}"))
    assert (reply.status, dict(reply.headers)["Content-Type"]) == (200, "application/json")
    assert json.loads(reply.body) == {
        "resource": f"http://127.0.0.1:8931{path.rstrip('/')}",
        "authorization_servers": [ISSUER],
        "bearer_methods_supported": ["header"],
        "scopes_supported": ["tools", "read"],
    }


async def test_other_documents_there_are_none(door, asks, error_in):
    guarded = door(oauth=OAUTH, verifier=Verifier())
    base = "/.well-known/oauth-protected-resource"
    for path in (f"{base}/metrics", f"{base}s", f"{base}/mcp/a/b", f'{base}/mcp/"', f"{base}/mcp/\n"):
        assert error_in(await guarded.admit(asks("GET", path)))[0] == 404
    assert error_in(await guarded.admit(asks("POST", base)))[0] == 405
    assert (await guarded.admit(asks("GET", base, host="evil.example.org"))).status == 403
    assert (await door(tokens=["t"]).admit(asks("GET", base))).status == 401


@pytest.mark.parametrize(
    ("oauth", "host", "resource", "place"),
    [
        ({"audience": "gw"}, "gw.example.org", "http://gw.example.org/mcp", "http://gw.example.org"),
        ({"audience": "https://gw.example.org/mcp"}, "GW.example.org", "https://gw.example.org/mcp", "https://gw.example.org"),
        ({"audience": "https://api.example.org"}, "gw.example.org", "http://gw.example.org/mcp", "http://gw.example.org"),
        ({"audience": "gw", "resource": "https://p.example.org/mcp"}, "127.0.0.1:1", "https://p.example.org/mcp", "https://p.example.org"),
        ({"audience": "gw", "resource": "https://p.example.org/t/mcp"}, "127.0.0.1:1", "https://p.example.org/t/mcp", "https://p.example.org/t"),
    ],
)  # fmt: skip
async def test_the_resource_is_what_clients_and_tokens_call_it(door, asks, oauth, host, resource, place):
    oauth = ListenOAuth(issuer=ISSUER, **oauth)
    document = protected_resource(oauth, host, "/mcp")
    assert document["resource"] == resource
    assert "scopes_supported" not in document
    guarded = door(["127.0.0.1:1"], allowed_hosts=["gw.example.org"], oauth=oauth, verifier=Verifier())
    said = challenge(await guarded.admit(asks(host=host)))
    assert said["resource_metadata"] == f"{place}/.well-known/oauth-protected-resource/mcp"


# -- limits --------------------------------------------------------------------------------------------------------


async def test_a_caller_that_comes_too_often_is_told_when_to_come_again(door, asks, error_in):
    clock = [100.0]
    limited = door(rate=0.25, now=lambda: clock[0])
    assert isinstance(await limited.admit(asks()), Caller)
    reply = await limited.admit(asks())
    assert error_in(reply)[:2] == (429, "RATE_LIMITED")
    assert dict(reply.headers)["Retry-After"] == "4"
    clock[0] += 4.0
    assert isinstance(await limited.admit(asks()), Caller)


async def test_each_caller_has_a_limit_of_its_own(door, asks):
    limited = door(rate=1.0, tokens=["alpha", "beta"])
    for token in ("alpha", "beta"):
        request = asks(authorization=f"Bearer {token}")
        assert [getattr(await limited.admit(request), "status", 200) for _ in range(3)] == [200, 200, 429]
    assert [getattr(await limited.admit(asks(client="unix")), "status", 200) for _ in range(3)] == [
        200,
        200,
        429,
    ]


async def test_guessing_is_limited_by_address_and_stops_nobody_else(door, asks):
    limited = door(rate=1.0, tokens=["alpha"])
    wrong = asks(authorization="Bearer wrong", client="10.0.0.1")
    assert [(await limited.admit(wrong)).status for _ in range(4)] == [401, 401, 429, 429]
    assert isinstance(await limited.admit(asks(authorization="Bearer alpha", client="10.0.0.1")), Caller)
    assert (await limited.admit(asks(client="10.0.0.2"))).status == 401


@given(rate=st.floats(0.01, 1000), steps=st.lists(st.floats(0, 10), min_size=1, max_size=60))
@settings(max_examples=200, deadline=None)
def test_never_more_than_the_burst_and_the_rate_get_through(rate, steps):
    limit, now, passed = RateLimit(rate), 0.0, 0
    for step in steps:
        now += step
        passed += sum(not limit.wait("k", now) for _ in range(5))
    assert passed <= max(1.0, 2 * rate) + rate * now + 1e-3


@given(rate=st.floats(0.01, 1000), rounds=st.integers(1, 30))
@settings(max_examples=100, deadline=None)
def test_whoever_waits_as_long_as_told_gets_through_however_often_they_asked(rate, rounds):
    limit, now = RateLimit(rate), 0.0
    for _ in range(rounds):
        while not (wait := limit.wait("k", now)):
            pass  # until the bucket is empty
        assert [limit.wait("k", now) for _ in range(3)] == [wait] * 3
        now += wait
        assert limit.wait("k", now) == 0.0


def test_the_table_of_callers_does_not_grow_and_keeps_those_that_owe_most():
    limit = RateLimit(1.0, kept=100)
    limit.wait("greedy", 0.0)
    limit.wait("greedy", 0.0)
    for number in range(1000):
        limit.wait(f"k{number}", 0.0)
        assert len(limit) <= 100
    assert limit.wait("greedy", 0.0) > 0


async def test_only_so_many_requests_are_worked_on_at_a_time(door, error_in):
    narrow = door(concurrency=2)
    assert narrow.acquire() is None
    assert narrow.acquire() is None
    reply = narrow.acquire()
    assert error_in(reply)[:2] == (503, "TOO_BUSY")
    assert dict(reply.headers)["Retry-After"] == "1"
    narrow.release()
    assert narrow.working == 1
    assert narrow.acquire() is None


# -- those who come again with the same head -------------------------------------------------------------------------


async def test_whoever_was_let_in_by_name_or_token_alone_is_known_by_the_same_key(door, asks):
    for settings_, request in (
        ({}, asks()),
        ({}, asks(client="unix")),
        ({"tokens": ["alpha", "beta"]}, asks(authorization="Bearer beta")),
    ):
        admission = door(**settings_)
        caller = await admission.admit(request)
        assert admission.known(request) == caller


async def test_nobody_is_known_who_has_to_be_looked_at_each_time(door, asks):
    verifier = Verifier(good=good())
    for settings_, request in (
        ({"rate": 1.0}, asks()),
        ({"rate": 1.0}, asks(client="unix")),
        ({"tokens": ["alpha"]}, asks()),
        ({"tokens": ["alpha"]}, asks(authorization="Bearer wrong")),
        ({"tokens": ["alpha"]}, asks(host="evil.example.org", authorization="Bearer alpha")),
        ({"oauth": OAUTH, "verifier": verifier}, asks(authorization="Bearer good")),
    ):
        admission = door(**settings_)
        await admission.admit(request)
        assert admission.known(request) is None


async def test_nobody_is_known_whose_names_were_not_looked_at(door, asks):
    assert door().known(asks()) is None


def test_places_are_taken_in_silence_too(door):
    admission = door(concurrency=2)
    assert [admission.take_place() for _ in range(3)] == [True, True, False]
    admission.release()
    assert admission.take_place()
    assert admission.working == 2
