"""What changes when a request crosses from one era of the protocol to the other. Pure.

Where client and server are of one era, nothing does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from awf.domain.mcp import INVALID_PARAMS, RESERVED_META, RpcError, Verbatim, modern_meta

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from awf.application.gateway.client import Client
    from awf.domain.mcp import Era

__all__ = ["Lowering", "crossed_error", "crossed_result", "upstream_meta"]

SERVER_INFO = f"{RESERVED_META}serverInfo"
LOG_LEVEL = f"{RESERVED_META}logLevel"
CACHED = frozenset(
    {"server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list"}
    | {"resources/read"}
)
_ONLY_MODERN = ("resultType", "ttlMs", "cacheScope")
_TYPE_FIRST, _TYPE_LAST = b'{"resultType":"complete",', b',"resultType":"complete"}'
_NOT_FOUND = -32002  # a resource, in the older era


class Lowering(Protocol):
    """How something is said in the oldest versions."""

    def tools(self, version: str, tools: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]: ...

    def result(self, version: str, result: dict[str, Any]) -> dict[str, Any]:
        """That of a tool."""
        ...


def upstream_meta(meta: dict[str, Any], client: Client, era: Era) -> dict[str, Any]:
    """The `_meta` for a server of this era, of a request of this client."""
    if era.modern and client.modern:
        return meta
    own = {key: value for key, value in meta.items() if not key.startswith(RESERVED_META)} if meta else {}
    if not era.modern:
        return own
    latest = client.latest_meta
    if latest is None or latest[0] is not era or latest[1:3] != (client.level, client.guarded):
        said = modern_meta(era.version, *client.told_of())
        if client.level:
            said[LOG_LEVEL] = client.level
        latest = client.latest_meta = (era, client.level, client.guarded, said)
    return {**own, **latest[3]} if own else latest[3]


def crossed_result(
    method: str, result: dict[str, Any], *, to_modern: bool, server_info: Mapping[str, Any]
) -> dict[str, Any]:
    return _modern(method, result, server_info) if to_modern else _legacy(result)


def _modern(method: str, result: dict[str, Any], server_info: Mapping[str, Any]) -> dict[str, Any]:
    caching = {"ttlMs": 0, "cacheScope": "private"} if method in CACHED else {}
    meta = result.get("_meta")
    told = {**(meta if isinstance(meta, dict) else {}), SERVER_INFO: dict(server_info)}
    return {"resultType": "complete", **caching, **result, "_meta": told}


def _without_type(result: Verbatim) -> Verbatim | None:
    """The same words without the one that the older era does not know. None: there are more of them, or it stands elsewhere."""
    structured = result.get("structuredContent")
    if "_meta" in result or "ttlMs" in result or "cacheScope" in result:
        return None
    if structured is not None and not isinstance(structured, dict):
        return None
    if "resultType" not in result:
        return result
    written = result.written
    if written.count(b'"resultType"') != 1:
        return None
    if written.endswith(_TYPE_LAST):
        written = written[: -len(_TYPE_LAST)] + b"}"
    elif written.startswith(_TYPE_FIRST):
        written = b"{" + written[len(_TYPE_FIRST) :]
    else:
        return None
    made = dict(result)
    del made["resultType"]
    return Verbatim(made, written)


def _legacy(result: dict[str, Any]) -> dict[str, Any]:
    if type(result) is Verbatim:
        plain = _without_type(result)
        if plain is not None:
            return plain
    made = {key: value for key, value in result.items() if key not in _ONLY_MODERN}
    meta = made.get("_meta")
    if isinstance(meta, dict) and SERVER_INFO in meta:
        left = {key: value for key, value in meta.items() if key != SERVER_INFO}
        if left:
            made["_meta"] = left
        else:
            del made["_meta"]
    structured = made.get("structuredContent")
    if structured is not None and not isinstance(structured, dict):
        made["structuredContent"] = {"result": structured}
    return made


def crossed_error(method: str, error: RpcError, *, to_modern: bool) -> RpcError:
    if method != "resources/read":
        return error
    if to_modern and error.code == _NOT_FOUND:
        return RpcError(INVALID_PARAMS, error.message, error.data)
    if not to_modern and error.code == INVALID_PARAMS:
        return RpcError(_NOT_FOUND, error.message, error.data)
    return error
