"""Requests of the newer era: each says by itself who asks and how. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.application.gateway.client import LEVELS, Client
from awf.application.gateway.eras import LOG_LEVEL
from awf.domain.mcp import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    LEGACY_VERSIONS,
    MODERN_VERSIONS,
    RESERVED_META,
    UNSUPPORTED_VERSION,
    RpcError,
)
from awf.domain.mirroring import plain_value

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["check_headers", "is_newer", "modern_client", "status_of"]

VERSION = f"{RESERVED_META}protocolVersion"
CAPABILITIES = f"{RESERVED_META}clientCapabilities"
INFO = f"{RESERVED_META}clientInfo"
_SUPPORTED = [*MODERN_VERSIONS, *reversed(LEGACY_VERSIONS)]
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_STATUS = {HEADER_MISMATCH: 400, -32021: 400, UNSUPPORTED_VERSION: 400, -32601: 404, -32700: 400, -32600: 400}


def is_newer(meta: Mapping[str, Any]) -> bool:
    """Whether a message says of itself that it is of the newer era."""
    return VERSION in meta or CAPABILITIES in meta


def modern_client(meta: Mapping[str, Any], key: str, profile: str) -> Client:
    """Whoever sent a request with this `_meta`. Raises `RpcError`."""
    version, capabilities = meta.get(VERSION), meta.get(CAPABILITIES)
    if not isinstance(version, str):
        raise RpcError(INVALID_PARAMS, f"Invalid params: _meta needs {VERSION}, a string")
    if version not in MODERN_VERSIONS:
        raise unsupported(version)
    if not isinstance(capabilities, dict):
        raise RpcError(INVALID_PARAMS, f"Invalid params: _meta needs {CAPABILITIES}, an object")
    info, level = meta.get(INFO), meta.get(LOG_LEVEL)
    return Client(
        version=version,
        modern=True,
        capabilities=capabilities,
        info=info if isinstance(info, dict) else {},
        key=key,
        profile=profile,
        level=level if level in LEVELS else "",
    )


def unsupported(version: str) -> RpcError:
    data = {"supported": _SUPPORTED, "requested": version}
    return RpcError(UNSUPPORTED_VERSION, f"Unsupported protocol version: {version[:100]}", data)


def check_headers(
    headers: Mapping[str, str], method: str, params: Mapping[str, Any], meta: Mapping[str, Any]
) -> None:
    """Headers repeat what the body says, for proxies that look only at them; so they must say the same."""
    told = headers.get("mcp-protocol-version")
    version = meta.get(VERSION)
    if told is None:
        raise RpcError(HEADER_MISMATCH, "Header mismatch: MCP-Protocol-Version is missing")
    if isinstance(version, str) and told != version:
        raise RpcError(HEADER_MISMATCH, "Header mismatch: MCP-Protocol-Version and _meta differ")
    if told not in MODERN_VERSIONS:
        raise unsupported(told)
    if headers.get("mcp-method") != method:
        raise RpcError(HEADER_MISMATCH, f"Header mismatch: Mcp-Method must be {method[:100]}")
    key = _NAMED.get(method)
    if key is None:
        return
    named = headers.get("mcp-name")
    if named is None or (named != params.get(key) and plain_value(named) != params.get(key)):
        raise RpcError(HEADER_MISMATCH, f"Header mismatch: Mcp-Name must be the {key} of the request")


def status_of(error: RpcError) -> int:
    """Of the HTTP answer that carries it."""
    return _STATUS.get(error.code, 200)
