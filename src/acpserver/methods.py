"""The methods an agent has, and what their params look like.

Written by hand, so that it costs nothing to load; the tests hold it against the published schema.
"""

from __future__ import annotations

from acpserver.content import content_block, mcp_server
from acpserver.shapes import absolute_path, either, flag, list_of, number, record, table, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from acpserver.shapes import Check

__all__ = ["AUTHENTICATE_PARAMS", "INITIALIZE_PARAMS", "NOTIFICATIONS", "REQUESTS"]

_DIRECTORIES: Final = {"additionalDirectories": list_of(absolute_path)}
_SERVERS: Final = {"mcpServers": list_of(mcp_server)}
_in_session: Final = record({"sessionId": text})
_reopen: Final = record({"sessionId": text, "cwd": absolute_path}, lists=_SERVERS, optional=_DIRECTORIES)
_option: Final = record(
    {"sessionId": text, "configId": text, "value": either("a string, true or false", text, flag)}
)


def _config_option(value: Any, place: str) -> dict[str, Any]:
    """A boolean says so beside its value; some editors forget."""
    seen: dict[str, Any] = _option(value, place)
    return {**seen, "type": "boolean"} if isinstance(seen["value"], bool) else seen


REQUESTS: Final[dict[str, Check]] = {
    "session/new": record({"cwd": absolute_path}, lists=_SERVERS, optional=_DIRECTORIES),
    "session/load": _reopen,
    "session/resume": _reopen,
    "session/list": record(optional={"cwd": absolute_path, "cursor": text}),
    "session/close": _in_session,
    "session/delete": _in_session,
    "session/set_mode": record({"sessionId": text, "modeId": text}),
    "session/set_config_option": _config_option,
    "session/prompt": record({"sessionId": text, "prompt": list_of(content_block)}),
}
NOTIFICATIONS: Final[dict[str, Check]] = {"session/cancel": _in_session}

INITIALIZE_PARAMS: Final = record(
    {"protocolVersion": number}, hints={"clientCapabilities": table, "clientInfo": table}
)
AUTHENTICATE_PARAMS: Final = record({"methodId": text})
