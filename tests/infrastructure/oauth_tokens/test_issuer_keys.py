"""The keys of an issuer: where they are found, how long they are kept, and what happens when they are not to be had."""

from __future__ import annotations

import asyncio
import json
import os

import pytest

from awf.domain.errors import AwfError
from awf.domain.gateway_file import ListenOAuth
from awf.domain.ports.http_server import HttpReply
from awf.domain.ports.token_verifier import IssuerUnreachable, TokenRefused
from awf.infrastructure.oauth_tokens import verifier_for
from awf.infrastructure.oauth_tokens.issuer import keys_in_file, metadata_addresses
from awf.infrastructure.oauth_tokens.signatures import keys_in

PATIENCE = 60


@pytest.fixture
def key(issuing):
    return issuing.key_for("EdDSA")


def fresh(key, issuer, **claims):
    """A token for today."""
    return key.token("EdDSA", iss=issuer, exp=4e9, iat=None, **claims)


# -- an authorization server on loopback ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tenant", "place"),
    [
        ("", "/.well-known/oauth-authorization-server"),
        ("", "/.well-known/openid-configuration"),
        ("/t/1", "/.well-known/oauth-authorization-server/t/1"),
        ("/t/1", "/.well-known/openid-configuration/t/1"),
        ("/t/1", "/t/1/.well-known/openid-configuration"),
        ("/t/", "/t/.well-known/openid-configuration"),
    ],
)
async def test_keys_are_found_through_what_the_issuer_says_of_itself(issuing, key, site, http, tenant, place):
    issuer = site.url + tenant
    site.documents[place] = {"issuer": issuer, "jwks_uri": f"{site.url}/keys"}
    site.documents["/keys"] = json.loads(issuing.key_set(key))
    verifier = verifier_for(ListenOAuth(issuer=issuer, audience=issuing.AUDIENCE), http, ".")
    assert (await verifier.verify(fresh(key, issuer))).subject == "ann"
    assert (await verifier.verify(fresh(key, issuer, sub="bob"))).subject == "bob"
    assert site.asked["/keys"] == site.asked[place] == 1


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (
            {"issuer": "https://other.example.org", "jwks_uri": "https://other.example.org/k"},
            "another issuer",
        ),
        ({"jwks_uri": "https://other.example.org/k"}, "not the metadata"),
        (["issuer"], "not the metadata"),
        (HttpReply(200, (), b"<html>"), "not the metadata"),
        (HttpReply(500), "HTTP 500"),
        (HttpReply(302, (("Location", "https://other.example.org"),)), "HTTP 302"),
        (HttpReply(200, (), b"x" * 300_000), "longer than"),
    ],
)
async def test_an_issuer_that_cannot_be_believed_gives_no_keys(issuing, key, site, http, document, reason):
    for place in metadata_addresses(site.url):
        site.documents[place.removeprefix(site.url)] = document
    verifier = verifier_for(ListenOAuth(issuer=site.url, audience=issuing.AUDIENCE), http, ".")
    with pytest.raises(IssuerUnreachable, match=reason):
        await verifier.verify(fresh(key, site.url))


@pytest.mark.parametrize(
    "url", [None, 5, "", "http://keys.example.org/", "file:///etc/keys", "https://[", "keys"]
)
async def test_keys_are_not_fetched_from_where_anyone_could_change_them(issuing, key, site, http, url):
    site.documents["/.well-known/openid-configuration"] = {"issuer": site.url, "jwks_uri": url}
    verifier = verifier_for(ListenOAuth(issuer=site.url, audience=issuing.AUDIENCE), http, ".")
    with pytest.raises(IssuerUnreachable, match="can be trusted"):
        await verifier.verify(fresh(key, site.url))


async def test_a_long_page_that_says_not_found_is_no_reason_to_stop_looking(issuing, key, site, http):
    site.documents["/.well-known/oauth-authorization-server"] = HttpReply(404, (), b"x" * 300_000)
    site.documents["/.well-known/openid-configuration"] = {"issuer": site.url, "jwks_uri": f"{site.url}/k"}
    site.documents["/k"] = json.loads(issuing.key_set(key))
    verifier = verifier_for(ListenOAuth(issuer=site.url, audience=issuing.AUDIENCE), http, ".")
    assert (await verifier.verify(fresh(key, site.url))).subject == "ann"


async def test_the_address_of_the_keys_can_be_given(issuing, key, site, http):
    site.documents["/k"] = json.loads(issuing.key_set(key))
    oauth = ListenOAuth(issuer=issuing.ISSUER, audience=issuing.AUDIENCE, jwks_url=f"{site.url}/k")
    verifier = verifier_for(oauth, http, ".")
    assert (await verifier.verify(fresh(key, issuing.ISSUER))).subject == "ann"
    assert dict(site.asked) == {"/k": 1}


async def test_an_issuer_that_is_away_is_not_taken_for_a_bad_token(issuing, key, site, http):
    await site.server.close(0.0)
    verifier = verifier_for(ListenOAuth(issuer=site.url, audience=issuing.AUDIENCE), http, ".")
    with pytest.raises(IssuerUnreachable):
        await verifier.verify(fresh(key, site.url))


async def test_many_at_once_ask_the_issuer_once(issuing, key, site, http):
    site.documents["/k"] = json.loads(issuing.key_set(key))
    oauth = ListenOAuth(issuer=issuing.ISSUER, audience=issuing.AUDIENCE, jwks_url=f"{site.url}/k")
    verifier = verifier_for(oauth, http, ".")
    tokens = [fresh(key, issuing.ISSUER, sub=f"u{number}") for number in range(20)]
    async with asyncio.timeout(PATIENCE):
        found = await asyncio.gather(*map(verifier.verify, tokens))
    assert [one.subject for one in found] == [f"u{number}" for number in range(20)]
    assert site.asked["/k"] == 1


# -- a file --------------------------------------------------------------------------------------------------------


async def test_keys_in_a_file_are_found_from_the_folder_of_the_configuration(issuing, key, http, tmp_path):
    (tmp_path / "keys.json").write_bytes(issuing.key_set(key))
    oauth = ListenOAuth(issuer=issuing.ISSUER, audience=issuing.AUDIENCE, jwks_file="keys.json")
    verifier = verifier_for(oauth, http, str(tmp_path))
    assert (await verifier.verify(fresh(key, issuing.ISSUER))).subject == "ann"


async def test_a_new_key_in_the_file_counts_without_a_restart(issuing, key, http, tmp_path):
    (tmp_path / "keys.json").write_bytes(issuing.key_set(key))
    oauth = ListenOAuth(issuer=issuing.ISSUER, audience=issuing.AUDIENCE, jwks_file="keys.json")
    verifier = verifier_for(oauth, http, str(tmp_path))
    await verifier.verify(fresh(key, issuing.ISSUER))
    new = issuing.Key("Ed25519", "new")
    (tmp_path / "keys.json").write_bytes(issuing.key_set(key, new))
    assert (await verifier.verify(fresh(new, issuing.ISSUER))).subject == "ann"


@pytest.mark.parametrize(
    "content", [None, b"", b"{}", b"[]", b'{"keys": {}}', b'{"keys": []}', b"\xff", b"x" * 300_000]
)
def test_a_file_without_keys_is_told_at_once(issuing, http, tmp_path, content):
    if content is not None:
        (tmp_path / "keys.json").write_bytes(content)
    oauth = ListenOAuth(issuer=issuing.ISSUER, audience=issuing.AUDIENCE, jwks_file="keys.json")
    with pytest.raises(AwfError, match="jwks_file") as caught:
        verifier_for(oauth, http, str(tmp_path))
    assert caught.value.code == "USER.GATEWAY.INVALID_FILE"


async def test_a_pipe_in_place_of_a_file_keeps_nobody_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(IssuerUnreachable, match="is not a file"):
        await keys_in_file(str(tmp_path / "pipe"))()


# -- which keys are used -------------------------------------------------------------------------------------------


def test_keys_that_cannot_check_a_signature_are_left_out(issuing):
    good, curve = issuing.key_for("RS256").jwk, issuing.key_for("ES256").jwk
    others = [
        {**good, "use": "enc"},
        {**good, "key_ops": ["encrypt"]},
        {**good, "key_ops": "verify"},
        {**good, "alg": "HS256"},
        {**good, "alg": ["RS256"]},
        {**good, "n": good["n"][:100]},
        {**good, "n": 5},
        {**good, "e": "AA"},
        {**good, "e": good["n"]},
        {**curve, "x": curve["y"]},
        {**curve, "x": curve["x"][:10]},
        {**curve, "crv": "secp256k1"},
        {**curve, "crv": ["P-256"]},
        {"kty": "oct", "k": "c2VjcmV0"},
        {"kty": "OKP", "crv": "X25519", "x": issuing.key_for("EdDSA").jwk["x"]},
        {"kty": "OKP", "crv": "Ed25519", "x": "AA"},
        {"kty": ["RSA"]},
        {},
        "RSA",
        None,
    ]
    assert keys_in(issuing.key_set(*others)) == []
    assert len(keys_in(issuing.key_set(*others, good))) == 1


def test_a_set_of_too_many_keys_is_refused(issuing):
    with pytest.raises(ValueError, match="up to 100"):
        keys_in(issuing.key_set(*[{}] * 101))


def test_a_short_rsa_key_is_left_out(issuing):
    assert keys_in(issuing.key_set(issuing.Key("RSA1024"))) == []


async def test_of_several_keys_the_named_one_counts(issuing, trusting):
    one, other = issuing.Key("Ed25519", "one"), issuing.Key("Ed25519", "other")
    verifier, _ = trusting(one, other)
    assert (await verifier.verify(other.token("EdDSA"))).subject == "ann"
    with pytest.raises(TokenRefused, match="signature"):
        await verifier.verify(other.token("EdDSA", header={"kid": "one"}))


async def test_a_token_that_names_no_key_is_tried_with_all(issuing, trusting):
    verifier, _ = trusting(issuing.key_for("RS256"), issuing.Key("Ed25519", None), issuing.key_for("EdDSA"))
    token = issuing.key_for("EdDSA").token("EdDSA", header={"kid": None})
    assert (await verifier.verify(token)).subject == "ann"


# -- how long they are kept ----------------------------------------------------------------------------------------


async def test_an_unknown_key_is_looked_for_once_in_thirty_seconds(issuing, trusting, key):
    verifier, source = trusting(key)
    await verifier.verify(key.token("EdDSA"))
    for number in range(5):
        with pytest.raises(TokenRefused):
            await verifier.verify(key.token("EdDSA", header={"kid": f"made-up-{number}"}))
    assert source.fetches == 2
    source.ticks += 31
    new = issuing.Key("Ed25519", "new")
    source.document = issuing.key_set(key, new)
    assert (await verifier.verify(new.token("EdDSA"))).subject == "ann"
    assert source.fetches == 3


async def test_an_unknown_key_in_the_very_first_token_costs_one_fetch(trusting, key):
    verifier, source = trusting(key)
    with pytest.raises(TokenRefused):
        await verifier.verify(key.token("EdDSA", header={"kid": "made-up"}))
    assert source.fetches == 1


async def test_a_new_key_without_a_name_is_found_too(issuing, trusting):
    old, new = issuing.Key("Ed25519", None), issuing.Key("Ed25519", None)
    verifier, source = trusting(old)
    await verifier.verify(old.token("EdDSA"))
    source.document = issuing.key_set(new)
    assert (await verifier.verify(new.token("EdDSA"))).subject == "ann"
    for _ in range(3):
        with pytest.raises(TokenRefused):
            await verifier.verify(old.token("EdDSA"))
    assert source.fetches == 2


async def test_a_token_of_another_issuer_makes_nobody_fetch_keys(trusting, key):
    verifier, source = trusting(key)
    with pytest.raises(TokenRefused, match="another issuer"):
        await verifier.verify(key.token("EdDSA", iss="https://other", header={"kid": "x"}))
    assert source.fetches == 0


async def test_old_keys_do_for_a_day_while_the_issuer_is_away(issuing, trusting, key):
    verifier, source = trusting(key)
    token = key.token("EdDSA")
    await verifier.verify(token)
    source.document = IssuerUnreachable("away")
    source.ticks += 1000
    assert (await verifier.verify(token)).subject == "ann"
    assert (await verifier.verify(token)).subject == "ann"
    assert source.fetches == 2, "it is asked again only after a pause"
    with pytest.raises(IssuerUnreachable):
        await verifier.verify(key.token("EdDSA", header={"kid": "perhaps-new"}))
    source.ticks += 24 * 3600
    with pytest.raises(IssuerUnreachable):
        await verifier.verify(token)


async def test_an_issuer_that_never_answered_is_asked_again_after_a_pause(issuing, trusting, key):
    verifier, source = trusting(key)
    good, source.document = source.document, IssuerUnreachable("away")
    for _ in range(5):
        with pytest.raises(IssuerUnreachable):
            await verifier.verify(key.token("EdDSA"))
    assert source.fetches == 1
    source.document = good
    source.ticks += 6
    assert (await verifier.verify(key.token("EdDSA"))).subject == "ann"


async def test_garbage_in_place_of_keys_does_not_take_the_good_ones_away(trusting, key):
    verifier, source = trusting(key)
    await verifier.verify(key.token("EdDSA"))
    source.document = b'{"keys": []}'
    source.ticks += 1000
    assert (await verifier.verify(key.token("EdDSA", sub="bob"))).subject == "bob"


async def test_a_request_that_is_given_up_leaves_the_keys_to_the_next_one(trusting, key):
    verifier, source = trusting(key)
    fetch, gate = source.fetch, asyncio.Event()

    async def slow():
        gate.set()
        await asyncio.Event().wait()

    verifier._ring._fetch = slow
    async with asyncio.timeout(PATIENCE):
        task = asyncio.get_running_loop().create_task(verifier.verify(key.token("EdDSA")))
        await gate.wait()
        verifier._ring._fetch = fetch
        task.cancel()
        await asyncio.wait([task])
        assert (await verifier.verify(key.token("EdDSA"))).subject == "ann"
