"""An authorization server for tests: real keys, tokens signed with them, and the documents it would publish."""

from __future__ import annotations

import base64
import json
from functools import cache

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

ISSUER = "https://login.example.org/tenant"
AUDIENCE = "https://gateway.example.org/mcp"
NOW = 1_800_000_000.0
_DIGESTS = {"256": hashes.SHA256(), "384": hashes.SHA384(), "512": hashes.SHA512()}
_CURVES = {"ES256": (ec.SECP256R1(), "P-256", 32), "ES384": (ec.SECP384R1(), "P-384", 48)}
_EDWARDS = {"Ed25519": ed25519.Ed25519PrivateKey, "Ed448": ed448.Ed448PrivateKey}


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value, size=None):
    return b64(value.to_bytes(size or (value.bit_length() + 7) // 8))


class Key:
    """A private key, and how it is published."""

    def __init__(self, kind, kid="k1"):
        self.kind, self.kid = kind, kid
        if kind in _CURVES:
            self._key = ec.generate_private_key(_CURVES[kind][0])
        elif kind in _EDWARDS:
            self._key = _EDWARDS[kind].generate()
        else:
            self._key = rsa.generate_private_key(65537, int(kind.removeprefix("RSA")))

    @property
    def jwk(self):
        named = {} if self.kid is None else {"kid": self.kid}
        public = self._key.public_key()
        if self.kind in _CURVES:
            _, curve, size = _CURVES[self.kind]
            point = public.public_numbers()
            return {
                **named,
                "kty": "EC",
                "crv": curve,
                "x": number(point.x, size),
                "y": number(point.y, size),
            }
        if self.kind in _EDWARDS:
            return {**named, "kty": "OKP", "crv": self.kind, "x": b64(public.public_bytes_raw())}
        numbers = public.public_numbers()
        return {**named, "kty": "RSA", "n": number(numbers.n), "e": number(numbers.e)}

    def sign(self, algorithm, data):
        if self.kind in _EDWARDS:
            return self._key.sign(data)
        digest = _DIGESTS[algorithm[2:]]
        if self.kind in _CURVES:
            size = _CURVES[self.kind][2]
            r, s = decode_dss_signature(self._key.sign(data, ec.ECDSA(digest)))
            return r.to_bytes(size) + s.to_bytes(size)
        pss = padding.PSS(padding.MGF1(digest), digest.digest_size)
        return self._key.sign(data, pss if algorithm.startswith("PS") else padding.PKCS1v15(), digest)

    def token(self, algorithm, *, header=None, **claims):
        """Claims and header fields that are None are left out."""
        head = {"alg": algorithm, "typ": "at+jwt", "kid": self.kid, **(header or {})}
        body = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": NOW + 300, "iat": NOW, **claims}
        parts = [
            b64(json.dumps({name: value for name, value in part.items() if value is not None}).encode())
            for part in (head, body)
        ]
        signed = ".".join(parts)
        return f"{signed}.{b64(self.sign(algorithm, signed.encode()))}"


@cache
def key_for(algorithm):
    """Keys take a while to make; tests share them."""
    if algorithm in _CURVES:
        return Key(algorithm, algorithm)
    return Key("Ed25519" if algorithm == "EdDSA" else "RSA2048", algorithm)


def key_set(*keys):
    return json.dumps({"keys": [key.jwk if isinstance(key, Key) else key for key in keys]}).encode()
