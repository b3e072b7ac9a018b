"""What is fixed by the Model Context Protocol: versions, keys and codes.

There are two eras. Up to 2025-11-25 a connection opens with a handshake (`initialize`); from 2026-07-28 on there is
none, and every request carries what the handshake used to agree on.
"""

from __future__ import annotations

from typing import Any

import msgspec

from awf import __version__

__all__ = [
    "CLIENT_INFO",
    "HEADER_MISMATCH",
    "INITIALIZE_VERSION",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "LEGACY_VERSIONS",
    "METHOD_NOT_FOUND",
    "MISSING_CAPABILITY",
    "MODERN_CODES",
    "MODERN_VERSIONS",
    "PARSE_ERROR",
    "RESERVED_META",
    "UNSUPPORTED_VERSION",
    "Era",
    "RpcError",
    "Verbatim",
    "modern_meta",
]

MODERN_VERSIONS = ("2026-07-28",)  # best last
LEGACY_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
INITIALIZE_VERSION = LEGACY_VERSIONS[-1]

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022
MODERN_CODES = frozenset({HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION})

_encode = msgspec.json.Encoder().encode
RESERVED_META = "io.modelcontextprotocol/"
CLIENT_INFO: dict[str, Any] = {"name": "awf", "version": __version__}


class Verbatim(dict[str, Any]):
    """A result together with the bytes it was read from, one line, for doors that pass it on to the letter.

    Whoever changes something makes a plain dict of it.
    """

    __slots__ = ("written",)

    def __init__(self, value: dict[str, Any], written: bytes) -> None:
        super().__init__(value)
        self.written = written

    def is_exact(self) -> bool:
        """Whether its bytes are the JSON that is made of it: no key twice, whose first value nobody sees."""
        return self.written == _encode(self)


class RpcError(Exception):
    """The other side answered a request with an error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class Era(msgspec.Struct, frozen=True, kw_only=True):
    """What was found out about a server when it was first spoken to."""

    modern: bool
    version: str
    capabilities: dict[str, Any] = {}
    instructions: str = ""
    server_info: dict[str, Any] = {}
    stateful: bool = False  # the server keeps a session for us, and says so

    @property
    def announces_tool_changes(self) -> bool:
        tools = self.capabilities.get("tools")
        return isinstance(tools, dict) and tools.get("listChanged") is True


def modern_meta(
    version: str, capabilities: dict[str, Any], client_info: dict[str, Any] = CLIENT_INFO
) -> dict[str, Any]:
    """What every request of the newer era carries."""
    return {
        f"{RESERVED_META}protocolVersion": version,
        f"{RESERVED_META}clientInfo": client_info,
        f"{RESERVED_META}clientCapabilities": capabilities,
    }
