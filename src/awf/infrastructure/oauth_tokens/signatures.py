"""Public keys of an issuer (a JWK set, RFC 7517), and whether one of them made a signature.

The library for it takes a while to load, so that only a door that needs it does so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from awf.infrastructure.oauth_tokens.jwt_text import decoded

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["IssuerKey", "keys_in"]

MOST_KEYS = 100
_RSA_BITS = range(2048, 16385)
_EXPONENT_BITS = 64
_RSA_ALGORITHMS = {"RS256": "SHA256", "RS384": "SHA384", "RS512": "SHA512", "PS256": "SHA256"}
_CURVES = {"P-256": ("ES256", "SECP256R1", "SHA256", 32), "P-384": ("ES384", "SECP384R1", "SHA384", 48)}
Checks = dict[str, "Callable[[bytes, bytes], None]"]  # by algorithm: raises for a wrong signature


class IssuerKey(NamedTuple):
    id: str | None
    checks: Checks

    def signed(self, algorithm: str, signed: bytes, signature: bytes) -> bool:
        from cryptography.exceptions import InvalidSignature

        check = self.checks.get(algorithm)
        if check is None:
            return False
        try:
            check(signature, signed)
        except InvalidSignature:
            return False
        return True


def keys_in(document: bytes) -> list[IssuerKey]:
    """Those that can be used; a set may hold others for other ends. Raises ValueError for what is no set of keys."""
    try:
        entries = msgspec.json.decode(document)["keys"]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, LookupError, TypeError):
        raise ValueError("it is not a JWK set") from None
    if not isinstance(entries, list) or len(entries) > MOST_KEYS:
        raise ValueError(f"it is not a JWK set of up to {MOST_KEYS} keys")
    return [key for entry in entries if isinstance(entry, dict) and (key := _key(entry)) is not None]


def _key(entry: dict[str, Any]) -> IssuerKey | None:
    from cryptography.exceptions import UnsupportedAlgorithm

    uses, operations, name = entry.get("use", "sig"), entry.get("key_ops", ["verify"]), entry.get("kid")
    if uses != "sig" or not isinstance(operations, list) or "verify" not in operations:
        return None
    maker = {"RSA": _rsa, "EC": _elliptic, "OKP": _edwards}.get(str(entry.get("kty")))
    try:
        checks = maker(entry) if maker else {}
    except (ValueError, KeyError, TypeError, OverflowError, UnsupportedAlgorithm):
        return None  # not a key, or not one that this machine can use
    if "alg" in entry:
        checks = {known: check for known, check in checks.items() if known == entry["alg"]}
    return IssuerKey(name if isinstance(name, str) else None, checks) if checks else None


def _rsa(entry: dict[str, Any]) -> Checks:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers

    modulus, exponent = _number(entry["n"]), _number(entry["e"])
    if modulus.bit_length() not in _RSA_BITS or exponent.bit_length() > _EXPONENT_BITS:
        raise ValueError("too short, or too long to be checked in time")
    key = RSAPublicNumbers(exponent, modulus).public_key()

    def check(algorithm: str, digest: hashes.HashAlgorithm) -> Callable[[bytes, bytes], None]:
        pads = (
            padding.PSS(padding.MGF1(digest), digest.digest_size)
            if algorithm.startswith("PS")
            else padding.PKCS1v15()
        )
        return lambda signature, signed: key.verify(signature, signed, pads, digest)

    return {name: check(name, getattr(hashes, digest)()) for name, digest in _RSA_ALGORITHMS.items()}


def _elliptic(entry: dict[str, Any]) -> Checks:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

    algorithm, curve, digest, size = _CURVES[entry["crv"]]
    x, y = _number(entry["x"], size), _number(entry["y"], size)
    key = ec.EllipticCurvePublicNumbers(x, y, getattr(ec, curve)()).public_key()
    how = ec.ECDSA(getattr(hashes, digest)())

    def check(signature: bytes, signed: bytes) -> None:
        if len(signature) != 2 * size:
            raise InvalidSignature
        r, s = int.from_bytes(signature[:size]), int.from_bytes(signature[size:])
        key.verify(encode_dss_signature(r, s), signed, how)

    return {algorithm: check}


def _edwards(entry: dict[str, Any]) -> Checks:
    from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PublicKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    curve, data = entry["crv"], decoded(entry["x"])
    if curve == "Ed25519":
        return {"EdDSA": Ed25519PublicKey.from_public_bytes(data).verify}
    if curve == "Ed448":
        return {"EdDSA": Ed448PublicKey.from_public_bytes(data).verify}
    raise ValueError("a curve that signs nothing")


def _number(text: str, size: int | None = None) -> int:
    data = decoded(text)
    if size is not None and len(data) != size:
        raise ValueError("a coordinate of the wrong length")
    return int.from_bytes(data)
