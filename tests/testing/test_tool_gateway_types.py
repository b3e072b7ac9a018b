"""The shapes that other languages get are those that the gateway speaks."""

from __future__ import annotations

import json

import jsonschema
import pytest

from awf.domain import manifest
from awf.gateway import AsyncToolGateway
from awf.testing.reference.tool_gateway_types import FORMS, tool_gateway_schema, typescript_types

SCHEMA = json.loads(tool_gateway_schema())
MANIFEST = {
    "serverId": "kb",
    "name": "KB",
    "version": "1",
    "tools": [{"name": "a", "description": "A", "inputSchema": {"type": "object"}}],
}


def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{name}"})


def test_every_struct_of_the_domain_is_among_them():
    structs = {
        name
        for name in manifest.__all__
        if isinstance(getattr(manifest, name), type) and hasattr(getattr(manifest, name), "__struct_fields__")
    }
    assert {form.__name__ for form in FORMS} == structs | {"GrantScope"}
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


async def test_what_the_gateway_says_fits_the_schema(tmp_path):
    heard = []
    async with AsyncToolGateway(workspace=tmp_path) as gateway:
        gateway.subscribe(heard.append)
        await gateway.register_manifest(MANIFEST)
        await gateway.grant_capability(
            {"capability": "x", "scope": {"user": "bob"}, "expiresAt": "2100-01-01T00:00:00Z"}
        )
        validator("MCPToolResult").validate(await gateway.call_tool({"toolId": "kb:a"}))
        validator("MCPToolResult").validate(await gateway.call_tool({"toolId": "kb:b"}))
        for event in await gateway.drain_audit_events():
            validator("ToolAuditEvent").validate(event)
        validator("ToolGatewaySnapshot").validate(await gateway.get_snapshot())
    for event in heard:
        validator("GatewayEvent").validate(event)
    assert len(heard) >= 4


@pytest.mark.parametrize(
    ("form", "value"),
    [
        ("McpManifest", {**MANIFEST, "nam": 1}),
        ("McpManifest", {**MANIFEST, "tools": [{"name": "a"}]}),
        ("ToolInvocation", {"toolId": 1}),
        ("GrantRequest", {"capability": "x", "scope": {"planet": "earth"}}),
    ],
)
def test_the_schema_refuses_what_the_gateway_refuses(form, value):
    assert list(validator(form).iter_errors(value))


def test_types_say_what_may_be_left_out_and_which_words_there_are():
    text = typescript_types()
    assert "  timeoutMs?: number | null;" in text
    assert '"connector.read"' in text
    assert "export interface McpServerConfig {\n  serverId: string;\n" in text
