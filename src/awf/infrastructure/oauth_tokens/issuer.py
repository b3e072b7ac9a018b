"""Where the keys of an issuer come from: a file, an address, or what the issuer says of itself (RFC 8414, OpenID)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from awf.domain.gateway_file import is_loopback
from awf.domain.ports.http_client import HttpFailure
from awf.domain.ports.token_verifier import IssuerUnreachable

if TYPE_CHECKING:
    from awf.domain.ports.http_client import HttpClient

__all__ = ["FetchKeys", "keys_at", "keys_in_file", "keys_of_issuer", "metadata_addresses", "read_key_file"]

LONGEST_ANSWER = 256 * 1024
PATIENCE = 10.0

# Gives the document that holds the keys. Raises `IssuerUnreachable`.
FetchKeys = Callable[[], Awaitable[bytes]]


def keys_in_file(path: str) -> FetchKeys:
    async def fetch() -> bytes:
        return read_key_file(path)

    return fetch


def read_key_file(path: str) -> bytes:
    """Raises `IssuerUnreachable`."""
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe would keep everyone waiting
        raise IssuerUnreachable(f"{path} is not a file")
    try:
        with open(path, "rb") as file:
            data = file.read(LONGEST_ANSWER + 1)
    except OSError as reason:
        raise IssuerUnreachable(f"{path} cannot be read: {reason.strerror}") from reason
    if len(data) > LONGEST_ANSWER:
        raise IssuerUnreachable(f"{path} has more than {LONGEST_ANSWER:,} bytes")
    return data


def keys_at(http: HttpClient, url: str) -> FetchKeys:
    async def fetch() -> bytes:
        return await _timely(_found(http, url))

    return fetch


def keys_of_issuer(http: HttpClient, issuer: str) -> FetchKeys:
    """What the issuer says is asked anew each time: keys are fetched seldom, and may move."""

    async def fetch() -> bytes:
        return await _timely(_discovered(http, issuer))

    return fetch


def metadata_addresses(issuer: str) -> list[str]:
    parts = urlsplit(issuer)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    inserted = [
        f"{origin}/.well-known/{name}{path}"
        for name in ("oauth-authorization-server", "openid-configuration")
    ]
    appended = f"{origin}{path}/.well-known/openid-configuration"
    return list(dict.fromkeys([*inserted, appended]))


async def _discovered(http: HttpClient, issuer: str) -> bytes:
    reasons = []
    for address in metadata_addresses(issuer):
        status, body = await _asked(http, address)
        document = _object(body) if status == 200 else {}
        if document.get("issuer") == issuer:
            return await _found(http, _keys_address(address, document))
        reasons.append(f"{address} {_why_not(status, document)}")
    raise IssuerUnreachable("the issuer does not tell where its keys are: " + "; ".join(reasons))


def _keys_address(address: str, document: dict[str, Any]) -> str:
    url = document.get("jwks_uri")
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        safe = parts is not None and (parts.scheme == "https" or is_loopback(parts.hostname or ""))
    except ValueError:
        safe = False
    if not safe or not isinstance(url, str):
        raise IssuerUnreachable(f"{address} names no address of keys that can be trusted")
    return url


def _why_not(status: int, document: dict[str, Any]) -> str:
    if status != 200:
        return f"gives HTTP {status}"
    return "speaks of another issuer" if "issuer" in document else "is not the metadata of an issuer"


async def _found(http: HttpClient, url: str) -> bytes:
    status, body = await _asked(http, url)
    if status != 200:
        raise IssuerUnreachable(f"{url} gives HTTP {status}")
    return body


async def _asked(http: HttpClient, url: str) -> tuple[int, bytes]:
    try:
        answer = await http.send("GET", url, headers={"Accept": "application/json"}, repeatable=True)
        async with answer:
            if answer.status != 200:
                answer.abort()  # nobody reads the page that says so
                return answer.status, b""
            return 200, await answer.body(LONGEST_ANSWER)
    except (HttpFailure, ValueError) as reason:
        raise IssuerUnreachable(f"{url}: {reason}") from reason


async def _timely(asking: Awaitable[bytes]) -> bytes:
    try:
        async with asyncio.timeout(PATIENCE):
            return await asking
    except TimeoutError:
        raise IssuerUnreachable(f"the issuer did not answer within {PATIENCE:g} s") from None


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
