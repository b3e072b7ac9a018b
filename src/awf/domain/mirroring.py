"""Headers of the newer era that repeat parts of the body, so that proxies can route without reading it."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["header_value", "mirrored_headers", "mirrored_parameters", "plain_value"]

_PLAIN = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
_WRAPPED = re.compile(r"=\?base64\?.*\?=")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_MARK = "x-mcp-header"
_MIRRORABLE = frozenset({"string", "integer", "boolean"})
# Where JSON Schema keeps further schemas, by the shape of the value.
_ONE = frozenset(
    {"items", "contains", "unevaluatedItems", "additionalProperties", "propertyNames", "contentSchema"}
    | {"unevaluatedProperties", "not", "if", "then", "else"}
)
_MANY = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_NAMED = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})

Path = tuple[str, ...]


def header_value(text: str) -> str:
    """As it is when a header can carry it, else as `=?base64?…?=`."""
    if not text or (_PLAIN.fullmatch(text) and not _WRAPPED.fullmatch(text)):
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode('ascii')}?="


def plain_value(header: str) -> str | None:
    """What a header says; None when it is wrapped wrongly."""
    if not _WRAPPED.fullmatch(header):
        return header
    try:
        return base64.b64decode(header[9:-2], validate=True).decode()
    except ValueError:
        return None


def mirrored_parameters(schema: Any) -> dict[Path, str]:
    """Which arguments of a tool are repeated in which `Mcp-Param-…` header. Raises ValueError when that is ill-defined."""
    found: dict[Path, str] = {}
    taken: set[str] = set()
    for path, part in _schemas(schema):
        if _MARK not in part:
            continue
        name = part[_MARK]
        if not path or not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise ValueError(f"{_MARK} is misplaced or not a header name")
        if part.get("type") not in _MIRRORABLE or name.lower() in taken:
            raise ValueError(f"{_MARK} {name!r} is given twice or on a value that is not simple")
        taken.add(name.lower())
        found[path] = name
    return found


def mirrored_headers(parameters: Mapping[Path, str], arguments: Mapping[str, Any]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for path, name in parameters.items():
        text = _as_text(_at(arguments, path))
        if text is not None:
            headers[f"Mcp-Param-{name}"] = header_value(text)
    return headers


def _schemas(root: Any) -> Iterator[tuple[Path | None, dict[str, Any]]]:
    """Every schema inside; with the path to its value where only `properties` lead to it, else None."""
    waiting: list[tuple[Path | None, Any]] = [((), root)]
    while waiting:
        path, part = waiting.pop()
        if not isinstance(part, dict):
            continue
        yield path, part
        for key, value in part.items():
            if key in _ONE:
                waiting.append((None, value))
            elif key in _MANY and isinstance(value, list):
                waiting += [(None, item) for item in value]
            elif key in _NAMED and isinstance(value, dict):
                on = path is not None and key == "properties"
                waiting += [((*(path or ()), name) if on else None, item) for name, item in value.items()]


def _at(arguments: Any, path: Path) -> Any:
    for key in path:
        if not isinstance(arguments, dict):
            return None
        arguments = arguments.get(key)
    return arguments


def _as_text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None
