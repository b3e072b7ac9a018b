"""What each protocol version can carry, and how a tool or a result is said in it.

Unknown keys always pass: a newer server behind us, or a vendor, may have put them there. Only keys that a *later*
version introduced are kept from clients of an earlier one, since some of those check strictly.
"""

from __future__ import annotations

import json

from mcpserver.messages import MISSING, MODERN_VERSIONS, PROTOCOL_VERSIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Final

    from mcpserver.tools import Result

__all__ = ["DIALECTS", "Dialect"]

_OLD_KINDS: Final = frozenset({"text", "image", "resource"})
_LATER_KEYS: Final = {
    "2024-11-05": frozenset({"annotations", "title", "outputSchema", "_meta", "icons", "execution"}),
    "2025-03-26": frozenset({"title", "outputSchema", "_meta", "icons", "execution"}),
    "2025-06-18": frozenset({"icons", "execution"}),
    "2025-11-25": frozenset(),
    "2026-07-28": frozenset({"execution"}),  # withdrawn there
}


class Dialect:
    """One protocol version, as far as tools are concerned."""

    __slots__ = ("batches", "kinds", "later_keys", "modern", "progress_text", "structured", "version")

    def __init__(self, version: str) -> None:
        self.version = version
        self.modern = version in MODERN_VERSIONS
        self.batches = version == "2025-03-26"
        self.later_keys = _LATER_KEYS[version]
        self.structured = version >= "2025-06-18"  # dates compare as text
        self.progress_text = version >= "2025-03-26"
        self.kinds: frozenset[str] | None = None  # every kind of content passes
        if version == "2025-03-26":
            self.kinds = _OLD_KINDS | {"audio"}
        elif version == "2024-11-05":
            self.kinds = _OLD_KINDS

    def tools(self, tools: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        return [self._tool(tool) for tool in tools]

    def _tool(self, tool: dict[str, Any]) -> dict[str, Any]:
        if not self.later_keys.isdisjoint(tool):
            tool = {key: value for key, value in tool.items() if key not in self.later_keys}
        if self.modern:
            return tool
        output = tool.get("outputSchema", {"type": "object"})
        if (
            not isinstance(output, dict) or output.get("type") != "object"
        ):  # and then results are wrapped, see below
            tool = {key: value for key, value in tool.items() if key != "outputSchema"}
        return _with_object_schemas(tool)

    def call_result(self, result: Result) -> dict[str, Any]:
        content = result.content
        if self.kinds is not None:
            content = [_readable(block, self.kinds) for block in content]
            if not content and result.structured is not MISSING:
                content = [{"type": "text", "text": json.dumps(result.structured, ensure_ascii=False)}]
        body: dict[str, Any] = {"content": content, "isError": result.is_error}
        if self.structured and result.structured is not MISSING:
            whole = self.modern or isinstance(result.structured, dict)
            body["structuredContent"] = result.structured if whole else {"result": result.structured}
        if result.meta:
            body["_meta"] = result.meta
        return body


def _with_object_schemas(tool: dict[str, Any]) -> dict[str, Any]:
    """Before 2026-07-28 a property's schema has to be an object; `true` and `false` make strict clients drop the whole list."""
    schema: dict[str, Any] = tool.get("inputSchema") or {}
    properties: dict[str, Any] = schema.get("properties") or {}
    if not any(isinstance(each, bool) for each in properties.values()):
        return tool
    meant: dict[bool, dict[str, Any]] = {True: {}, False: {"not": {}}}
    said = {key: meant[each] if isinstance(each, bool) else each for key, each in properties.items()}
    return {**tool, "inputSchema": {**schema, "properties": said}}


def _readable(block: dict[str, Any], kinds: frozenset[str]) -> dict[str, Any]:
    """The block itself where the client knows its kind, else the same in words."""
    kind = block.get("type")
    if kind in kinds:
        return block
    if kind == "resource_link":
        text = f"[{block.get('name', 'resource')}]({block.get('uri', '')})"
        if block.get("description"):
            text += f": {block['description']}"
    elif kind == "audio":
        size = len(block.get("data", "")) * 3 // 4
        text = f"[audio, {block.get('mimeType', 'unknown type')}, about {size} bytes: this client cannot take audio]"
    else:
        text = json.dumps(block, ensure_ascii=False)
    return {"type": "text", "text": text}


DIALECTS: Final = {version: Dialect(version) for version in PROTOCOL_VERSIONS}
