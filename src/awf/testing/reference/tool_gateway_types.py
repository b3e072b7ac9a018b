"""The shapes of the tool gateway for others: one JSON Schema, and types for TypeScript."""

from __future__ import annotations

import inspect as sources
import json
from typing import Any

import msgspec
from msgspec import inspect

from awf.domain import manifest
from awf.domain.grant import GrantScope

__all__ = ["tool_gateway_schema", "typescript_types"]

FORMS: tuple[type[msgspec.Struct], ...] = (
    manifest.ToolAnnotations,
    manifest.MCPTool,
    manifest.McpManifest,
    manifest.ServerAuth,
    manifest.ExecutionLimits,
    manifest.McpServerConfig,
    manifest.ToolRegistryEntry,
    GrantScope,
    manifest.GrantRequest,
    manifest.CapabilityGrant,
    manifest.ToolInvocation,
    manifest.ToolError,
    manifest.OutputSpool,
    manifest.ToolResultMeta,
    manifest.MCPToolResult,
    manifest.ArtifactPage,
    manifest.ToolAuditEvent,
    manifest.ToolGatewaySnapshot,
    manifest.GatewayEvent,
)
_HEAD = "// Made by `make docs` from src/awf/domain/manifest.py. Do not edit.\n"
_SIMPLE: dict[type[inspect.Type], str] = {
    inspect.AnyType: "unknown",
    inspect.NoneType: "null",
    inspect.BoolType: "boolean",
    inspect.IntType: "number",
    inspect.FloatType: "number",
    inspect.StrType: "string",
}


def tool_gateway_schema() -> str:
    _, components = msgspec.json.schema_components(FORMS, ref_template="#/$defs/{name}")
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The values of AWF's tool gateway",
        "$defs": {form.__name__: _plain(components[form.__name__]) for form in FORMS},
    }
    return json.dumps(schema, ensure_ascii=False, indent=2) + "\n"


def _plain(schema: Any) -> Any:
    """Without `title`, which only repeats the name, in our own order."""
    if isinstance(schema, dict):
        return {
            key: _plain(value)
            for key, value in schema.items()
            if key != "title" or not isinstance(value, str)
        }
    return [_plain(one) for one in schema] if isinstance(schema, list) else schema


def typescript_types() -> str:
    parts = [_HEAD, *(_interface(form) for form in FORMS)]
    return "\n".join(parts)


def _interface(form: type[msgspec.Struct]) -> str:
    told = inspect.type_info(form)
    assert isinstance(told, inspect.StructType)
    lines = [f"/** {sources.cleandoc(form.__doc__).splitlines()[0]} */"] if form.__doc__ else []
    lines.append(f"export interface {form.__name__} {{")
    for field in told.fields:
        optional = "" if field.required else "?"
        lines.append(f"  {field.encode_name}{optional}: {_type(field.type)};")
    return "\n".join([*lines, "}", ""])


def _type(kind: inspect.Type) -> str:
    simple = _SIMPLE.get(type(kind))
    if simple is not None:
        return simple
    if isinstance(kind, inspect.StructType):
        return kind.cls.__name__
    if isinstance(kind, inspect.LiteralType):
        return " | ".join(json.dumps(value) for value in kind.values)
    if isinstance(kind, inspect.ListType):
        return f"Array<{_type(kind.item_type)}>"
    if isinstance(kind, inspect.DictType):
        return f"Record<{_type(kind.key_type)}, {_type(kind.value_type)}>"
    if isinstance(kind, inspect.UnionType):
        return " | ".join(dict.fromkeys(map(_type, kind.types)))
    raise TypeError(f"{kind} has no form in TypeScript yet")
