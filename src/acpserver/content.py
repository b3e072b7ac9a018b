"""Content blocks and MCP servers as editors send them."""

from __future__ import annotations

from acpserver.errors import Complaint
from acpserver.shapes import list_of, number, record, table, text, wrong

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from acpserver.shapes import Check

__all__ = ["content_block", "mcp_server"]

_MIME: Final = {"mimeType": text}
_resource: Final = record({"uri": text}, hints={**_MIME, "text": text, "blob": text})


def resource(value: Any, place: str) -> dict[str, Any]:
    """Text or blob; one that is wrong does no harm beside one that is right."""
    seen: dict[str, Any] = _resource(value, place)
    if "text" not in seen and "blob" not in seen:
        raise Complaint("invalid_params", f"{place} must have text or blob, a string")
    return seen


_link: Final = record(
    {"uri": text},
    optional={"name": text},
    hints={**_MIME, "annotations": table, "title": text, "description": text, "size": number},
)


def resource_link(value: Any, place: str) -> dict[str, Any]:
    """A link without a name is called by its address."""
    seen: dict[str, Any] = _link(value, place)
    return seen if "name" in seen else {**seen, "name": seen["uri"]}


_BLOCKS: Final[dict[str, Check]] = {
    "text": record({"text": text}, hints={"annotations": table}),
    "image": record({"data": text, "mimeType": text}, hints={"annotations": table, "uri": text}),
    "audio": record({"data": text, "mimeType": text}, hints={"annotations": table}),
    "resource_link": resource_link,
    "resource": record({"resource": resource}, hints={"annotations": table}),
}


def content_block(value: Any, place: str) -> dict[str, Any]:
    kind = text(table(value, place).get("type"), f"{place}.type")
    check = _BLOCKS.get(kind)
    if check is None:
        wrong(f"{place}.type", f"one of {', '.join(_BLOCKS)}, not {kind[:100]!r}")
    seen: dict[str, Any] = check(value, place)
    return seen


_pairs: Final = list_of(record({"name": text, "value": text}))
_stdio: Final = record({"name": text, "command": text}, lists={"args": list_of(text), "env": _pairs})
_remote: Final = record({"name": text, "url": text}, lists={"headers": _pairs})
_SERVERS: Final[dict[str, Check]] = {"stdio": _stdio, "http": _remote, "sse": _remote}


def mcp_server(value: Any, place: str) -> dict[str, Any]:
    """Without a type it is started as a process; `stdio` says the same."""
    kind = table(value, place).get("type")
    kind = "stdio" if kind is None else text(kind, f"{place}.type")
    check = _SERVERS.get(kind)
    if check is None:
        wrong(f"{place}.type", f"http or sse, or left out for a command; not {kind[:100]!r}")
    seen: dict[str, Any] = check(value, place)
    if kind == "stdio":
        seen.pop("type", None)
    return seen
