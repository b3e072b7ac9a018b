"""Which tokens are believed: real keys, real signatures, and everything that is not quite right."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from awf.domain.ports.token_verifier import TokenRefused
from awf.infrastructure.oauth_tokens import verifier as verifier_module
from awf.infrastructure.oauth_tokens.jwt_text import parse_token

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"]
FEW = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture
def key(issuing):
    return issuing.key_for("EdDSA")


@pytest.fixture
def refused(trusting, key):
    """A function that gives the reason for which a token is refused."""

    async def reason(token, *keys, **more):
        with pytest.raises(TokenRefused) as caught:
            await trusting(*(keys or (key,)), **more)[0].verify(token)
        said = str(caught.value)
        assert said.isascii()
        assert not set('"\\\r\n') & set(said)
        return said

    return reason


@pytest.mark.parametrize("algorithm", ALGORITHMS)
async def test_a_sound_token_is_believed_in_every_way_of_signing(issuing, trusting, algorithm):
    key = issuing.key_for(algorithm)
    verifier, _ = trusting(key)
    token = await verifier.verify(key.token(algorithm, scope="read write", client_id="agent"))
    assert (token.subject, token.client) == ("ann", "agent")
    assert token.scopes == {"read", "write"}
    assert token.expires == issuing.NOW + 300


async def test_a_key_on_the_larger_edwards_curve_signs_too(issuing, trusting):
    key = issuing.Key("Ed448")
    assert (await trusting(key)[0].verify(key.token("EdDSA"))).subject == "ann"


@pytest.mark.parametrize("algorithm", ["none", "None", "HS256", "HS512", "RS1", "", None, 5, ["ES256"]])
async def test_ways_of_signing_that_prove_nothing_are_refused(key, refused, algorithm):
    token = key.token("EdDSA", header={"alg": algorithm})
    assert await refused(token) == "it is signed in a way that is not accepted"


async def test_a_public_key_used_as_a_shared_secret_opens_nothing(issuing, refused):
    key = issuing.key_for("RS256")
    head, body, _ = key.token("RS256", header={"alg": "HS256"}).split(".")
    for secret in (key.jwk["n"].encode(), json.dumps(key.jwk).encode(), b""):
        signature = issuing.b64(hmac.digest(secret, f"{head}.{body}".encode(), hashlib.sha256))
        assert "not accepted" in await refused(f"{head}.{body}.{signature}", key)


@pytest.mark.parametrize(("claimed", "signed"), [("RS256", "ES256"), ("ES256", "EdDSA"), ("ES384", "ES256"), ("EdDSA", "RS256")])  # fmt: skip
async def test_a_key_signs_only_in_its_own_way(issuing, refused, claimed, signed):
    key = issuing.key_for(signed)
    token = key.token(signed, header={"alg": claimed})
    assert "signature" in await refused(token, key)


async def test_a_key_that_is_bound_to_one_way_of_signing_is_not_used_for_another(issuing, refused, trusting):
    key = issuing.key_for("RS256")
    bound = {**key.jwk, "alg": "PS256"}
    assert "signature" in await refused(key.token("RS256"), bound)
    assert (await trusting(bound)[0].verify(key.token("PS256"))).subject == "ann"


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"iss": "https://login.example.org"}, "it comes from another issuer"),
        ({"iss": "https://login.example.org/tenant/"}, "it comes from another issuer"),
        ({"iss": None}, "it comes from another issuer"),
        ({"iss": ["https://login.example.org/tenant"]}, "it comes from another issuer"),
        ({"aud": "https://gateway.example.org/mcp/"}, "it was made for another audience"),
        ({"aud": "https://gateway.example.org/mc"}, "it was made for another audience"),
        ({"aud": ["a", "https://gateway.example.org"]}, "it was made for another audience"),
        ({"aud": None}, "it was made for another audience"),
        ({"aud": {"https://gateway.example.org/mcp": 1}}, "it was made for another audience"),
        ({"exp": None}, "it does not say when it expires"),
        ({"exp": 1_800_000_000 - 60}, "it has expired"),
        ({"exp": "1900000000"}, "a time in it is not a number"),
        ({"exp": True}, "a time in it is not a number"),
        ({"exp": 10**400}, "a time in it is out of bounds"),
        ({"nbf": 1_800_000_061}, "it is not valid yet"),
        ({"nbf": "soon"}, "a time in it is not a number"),
        ({"iat": 1_800_000_061}, "it is not valid yet"),
        ({"sub": None}, "it does not say whose it is"),
        ({"sub": ""}, "it does not say whose it is"),
        ({"sub": 5}, "a name in it cannot be used"),
        ({"sub": "a\nb"}, "a name in it cannot be used"),
        ({"sub": "a" * 513}, "a name in it cannot be used"),
    ],
)
async def test_a_claim_that_is_wrong_is_named(key, refused, claims, reason):
    assert await refused(key.token("EdDSA", **claims)) == reason


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": 1_800_000_000 - 59},
        {"exp": 1_800_000_300.5},
        {"nbf": 1_800_000_060},
        {"iat": 1_800_000_060},
        {"iat": None},
        {"aud": ["other", "https://gateway.example.org/mcp"]},
    ],
)
async def test_clocks_may_differ_a_little_and_tokens_may_have_other_uses(key, trusting, claims):
    assert (await trusting(key)[0].verify(key.token("EdDSA", **claims))).subject == "ann"


@pytest.mark.parametrize(
    ("claims", "scopes"),
    [
        ({}, set()),
        ({"scope": "a  b"}, {"a", "b"}),
        ({"scp": "a b"}, {"a", "b"}),
        ({"scp": ["a", "b"]}, {"a", "b"}),
        ({"scope": ["a"], "scp": 5}, {"a"}),
    ],
)
async def test_scopes_are_read_in_the_forms_that_issuers_use(key, trusting, claims, scopes):
    assert (await trusting(key)[0].verify(key.token("EdDSA", **claims))).scopes == scopes


async def test_a_program_without_a_person_speaks_for_itself(key, trusting):
    token = await trusting(key)[0].verify(key.token("EdDSA", sub=None, azp="nightly"))
    assert (token.subject, token.client) == ("", "nightly")


@pytest.mark.parametrize(
    "header",
    [{"crit": ["exp"]}, {"b64": False}, {"typ": "logout+jwt"}, {"typ": "dpop+jwt"}, {"typ": 1}, {"kid": 7}],
)
async def test_a_token_for_other_ends_is_refused(key, refused, header):
    assert await refused(key.token("EdDSA", header=header))


@pytest.mark.parametrize("kind", ["JWT", "AT+JWT", "application/at+jwt", None])
async def test_the_kind_of_token_is_written_in_several_ways(key, trusting, kind):
    assert (await trusting(key)[0].verify(key.token("EdDSA", header={"typ": kind}))).subject == "ann"


@pytest.mark.parametrize(
    "text",
    ["", ".", "..", "...", "a.b", "a.b.c", "a.b.c.d", "e30.e30.", "e30.e30.e30", "W10.W10.W10", "bnVsbA.e30.AA", "ä.b.c", "\ud800.a.b", "a b.c.d"],
)  # fmt: skip
async def test_what_is_no_token_at_all_is_refused(refused, text):
    assert await refused(text)


async def test_a_token_that_is_too_long_or_too_deep_is_refused(issuing, key, refused):
    assert await refused(key.token("EdDSA", more="x" * 20000)) == "it is too long"
    deep = issuing.b64(b"[" * 9000)
    assert await refused(f"{deep}.e30.AA") == "it is not a signed JWT"


async def test_another_spelling_of_the_same_signature_is_refused(key, refused, trusting):
    token = key.token("EdDSA")  # 64 bytes: of the last sign, four bits count for nothing
    last = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".index(token[-1])
    same = token[:-1] + "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[last ^ 1]
    assert (await trusting(key)[0].verify(token)).subject == "ann"
    assert await refused(same) == "it is not a signed JWT"
    assert await refused(token + "==") == "it is not a signed JWT"


async def test_a_signature_on_a_curve_has_one_length(issuing, refused):
    key = issuing.key_for("ES256")
    head, body, _ = key.token("ES256").split(".")
    signature = key.sign("ES256", f"{head}.{body}".encode())
    longer = signature[:32] + b"\0" + signature[32:]  # the same two numbers
    assert "signature" in await refused(f"{head}.{body}.{issuing.b64(longer)}", key)


@given(data=st.data())
@FEW
@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256", "EdDSA"])
def test_a_token_that_was_changed_anywhere_is_never_believed(issuing, trusting, algorithm, data):
    key = issuing.key_for(algorithm)
    sound = key.token(algorithm, scope="read")
    changed = data.draw(mutations(sound))
    if changed == sound:
        return
    with pytest.raises(TokenRefused):
        asyncio.run(trusting(key)[0].verify(changed))


@st.composite
def mutations(draw, token):
    """Signs replaced, inserted, removed or swapped; parts exchanged; several times."""
    signs = list(token)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, max(0, len(signs) - 1)))
        kind = draw(st.sampled_from(["replace", "insert", "remove", "swap", "cut", "parts"]))
        if not signs:
            break
        if kind == "replace":
            signs[at] = draw(st.sampled_from("ABCabc019-_.= \n+/ä"))
        elif kind == "insert":
            signs.insert(at, draw(st.sampled_from("ABCabc019-_.= \n+/ä")))
        elif kind == "remove":
            del signs[at]
        elif kind == "swap":
            signs[at], signs[at - 1] = signs[at - 1], signs[at]
        elif kind == "cut":
            del signs[at:]
        else:
            signs = list(".".join(draw(st.permutations("".join(signs).split(".")))))
    return "".join(signs)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    header=st.dictionaries(st.sampled_from(["alg", "kid", "typ", "jwk", "jku", "x5u", "crit"]), json_values),
    claims=st.dictionaries(st.sampled_from(["iss", "aud", "exp", "nbf", "iat", "sub", "scope", "scp"]), json_values),
)  # fmt: skip
@FEW
def test_whatever_a_signed_token_says_it_is_believed_or_refused_and_nothing_else(issuing, trusting, header, claims):  # fmt: skip
    key = issuing.key_for("EdDSA")
    try:
        token = asyncio.run(trusting(key)[0].verify(key.token("EdDSA", header=header, **claims)))
    except TokenRefused:
        return
    assert token.subject
    assert token.expires > issuing.NOW - 61


@given(
    text=st.text(alphabet=st.sampled_from("eyJhbGciOiJSUzI1NiJ9.-_=\x00ä"), max_size=80)
    | st.text(max_size=60)
)
@FEW
def test_no_text_breaks_the_parser(text):
    with contextlib.suppress(TokenRefused):
        parse_token(text)


async def test_a_known_token_is_not_checked_again_until_it_expires(issuing, trusting, key):
    clock = [issuing.NOW]
    verifier, source = trusting(key, now=lambda: clock[0])
    token = key.token("EdDSA")
    first = await verifier.verify(token)
    assert await verifier.verify(token) is first
    clock[0] += 361
    with pytest.raises(TokenRefused, match="expired"):
        await verifier.verify(token)
    assert source.fetches == 1


async def test_a_token_whose_key_was_withdrawn_is_refused_although_it_was_good(issuing, trusting, key):
    verifier, source = trusting(key)
    token = key.token("EdDSA")
    await verifier.verify(token)
    source.document = issuing.key_set(issuing.key_for("ES256"))
    source.ticks += 901
    with pytest.raises(TokenRefused, match="signature"):
        await verifier.verify(token)


async def test_not_more_tokens_are_remembered_than_there_is_room_for(monkeypatch, trusting, key):
    monkeypatch.setattr(verifier_module, "TOKENS_KEPT", 3)
    verifier, _ = trusting(key)
    for number in range(10):
        assert (await verifier.verify(key.token("EdDSA", sub=f"u{number}"))).subject == f"u{number}"
        assert len(verifier._seen) <= 3
