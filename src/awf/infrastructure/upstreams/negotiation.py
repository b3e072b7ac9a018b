"""Which era a server belongs to, found out by asking.

`server/discover` is asked first. A result, or an error that only the newer era knows, settles it; anything else means
`initialize`. A server that says nothing for a moment may be old and deaf to unknown methods, or new and slow to start:
then both questions are open at once, and the first useful answer counts.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from awf.domain.mcp import (
    CLIENT_INFO,
    INITIALIZE_VERSION,
    LEGACY_VERSIONS,
    MODERN_CODES,
    MODERN_VERSIONS,
    UNSUPPORTED_VERSION,
    Era,
    RpcError,
    modern_meta,
)
from awf.infrastructure.upstreams.failures import ServerFault, nonsense

if TYPE_CHECKING:
    from awf.infrastructure.upstreams.channel import Channel

__all__ = ["PATIENCE", "Introduction", "negotiate"]

PATIENCE = 2.0  # seconds of silence after which the older way is tried beside the newer
_OTHER = "Use another version of the server, or of awf."


class Introduction(NamedTuple):
    """Who speaks to whom."""

    channel: Channel
    name: str
    capabilities: dict[str, Any]
    patience: float = PATIENCE
    client_info: dict[str, Any] = CLIENT_INFO
    version: str = INITIALIZE_VERSION  # the one to ask for where there is a handshake


async def negotiate(us: Introduction, known: Era | None = None) -> Era:
    """Open the connection the way the server understands. `known`: what was found out before."""
    if known is None:
        era = await _ask(us)
    elif known.modern:
        era = known
    else:
        era = await _initialize(us)
    us.channel.agreed(era)
    if not era.modern:
        await us.channel.notify("notifications/initialized")
    return era


async def _ask(us: Introduction) -> Era:
    loop = asyncio.get_running_loop()
    newer = loop.create_task(_discover(us), name="server/discover")
    older: asyncio.Task[Era] | None = None
    try:
        await asyncio.wait([newer], timeout=us.patience)
        if newer.done() and (era := newer.result()) is not None:
            return era
        older = loop.create_task(_initialize(us), name="initialize")
        return await _first_useful(newer, older)
    finally:
        await _end(*filter(None, (newer, older)))


async def _first_useful(newer: asyncio.Task[Era | None], older: asyncio.Task[Era]) -> Era:
    await asyncio.wait([newer, older], return_when=asyncio.FIRST_COMPLETED)
    if newer.done() and (era := newer.result()) is not None:
        return era
    await asyncio.wait([older])
    # A server of the newer era that was slow to start refuses the older question, and has answered the newer one.
    refused = older.exception()
    if isinstance(refused, ServerFault) and refused.__cause__ is not None and _is_modern(refused.__cause__):
        era = await newer
        if era is not None:
            return era
    return older.result()


async def _end(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # the other question has been answered


async def _discover(us: Introduction, version: str = "") -> Era | None:
    """None: not a server of the newer era. `version`: one that the server has named itself."""
    named, version = bool(version), version or MODERN_VERSIONS[-1]
    params = {"_meta": modern_meta(version, us.capabilities, us.client_info)}
    try:
        result = await us.channel.exchange(us.channel.correlation.begin("server/discover", params))
    except RpcError as reason:
        common = None if named else _common(_supported(reason))
        return _after_refusal(us, reason, version) if common is None else await _discover(us, common)
    except ServerFault as reason:
        # Without an HTTP status nothing answered at all; 401 and 403 are about us and not about the era.
        if reason.status in {0, 401, 403}:
            raise
        return None
    common = _common(_texts(result.get("supportedVersions")))
    return None if common is None else _modern_era(common, result)


def _after_refusal(us: Introduction, reason: RpcError, version: str) -> Era | None:
    if not _is_modern(reason):
        return None
    if reason.code != UNSUPPORTED_VERSION:
        return Era(modern=True, version=version)
    supported = _supported(reason)
    if not supported or any(known in supported for known in (*LEGACY_VERSIONS, *MODERN_VERSIONS)):
        return None
    spoken = ", ".join(supported)
    raise nonsense(f'MCP server "{us.name}" speaks only unknown protocol versions: {spoken}.', hint=_OTHER)


async def _initialize(us: Introduction) -> Era:
    params = {"protocolVersion": us.version, "capabilities": us.capabilities, "clientInfo": us.client_info}
    try:
        result = await us.channel.exchange(us.channel.correlation.begin("initialize", params))
    except RpcError as reason:
        message = f'MCP server "{us.name}" refused to start a session: {reason.message}'
        raise nonsense(message, hint=_OTHER) from reason
    version = result.get("protocolVersion")
    if version not in LEGACY_VERSIONS:
        message = f'MCP server "{us.name}" speaks the unknown protocol version {version!r}.'
        raise nonsense(message, hint=_OTHER)
    return Era(
        modern=False,
        version=str(version),
        capabilities=_mapping(result.get("capabilities")),
        instructions=str(result.get("instructions") or ""),
        server_info=_mapping(result.get("serverInfo")),
        stateful=us.channel.has_session,
    )


def _modern_era(version: str, result: dict[str, Any]) -> Era:
    meta = _mapping(result.get("_meta"))
    return Era(
        modern=True,
        version=version,
        capabilities=_mapping(result.get("capabilities")),
        instructions=str(result.get("instructions") or ""),
        server_info=_mapping(meta.get("io.modelcontextprotocol/serverInfo")),
    )


def _supported(reason: RpcError) -> list[str]:
    """The versions that a server names when it refuses one."""
    told = reason.code == UNSUPPORTED_VERSION and isinstance(reason.data, dict)
    return _texts(reason.data.get("supported")) if told else []


def _is_modern(reason: BaseException) -> bool:
    return isinstance(reason, RpcError) and reason.code in MODERN_CODES


def _common(supported: list[str]) -> str | None:
    return next((version for version in reversed(MODERN_VERSIONS) if version in supported), None)


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
