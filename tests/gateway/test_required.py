"""The tests that the specification of the tool gateway asks for by name; those of the registry are in tests/application/gate."""

from __future__ import annotations

import hashlib
import json

from awf.gateway import AsyncToolGateway


async def test_capability_gating_rejects_calls_without_required_grants(tmp_path, make):
    begun = []
    async with AsyncToolGateway(workspace=tmp_path) as gateway:
        tool = make.tool(policyAction="connector.read", requiredScopes=["kb:search"])
        await gateway.register_server(make.server(tool), initialize=begun.append)
        call = {"toolId": "kb:echo", "arguments": {"text": "hello"}}
        half = await gateway.grant_capability({"capability": "kb:search"})
        other = await gateway.grant_capability({"capability": "file.*"})
        for given in ([], [half], [other], [half, other], ["none"]):
            result = await gateway.call_tool({**call, "grantIds": given})
            assert (result["success"], result["error"]["code"]) == (False, "PERMISSION_DENIED")
            assert "connector.read" in result["error"]["details"]["missing"]
        assert begun == []  # its server was never so much as started
        whole = await gateway.grant_capability({"capability": "connector.read"})
        assert (await gateway.call_tool({**call, "grantIds": [half, whole]}))["success"] is True


async def test_audit_events_emit_deterministic_hashes(tmp_path, make):
    arguments = {
        "text": "hello",
        "numbers": [3, 1.5, -0.0],
        "apiKey": "sk-1",
        "nested": {"token": "a", "b": None},
    }
    seen = []
    for name in ("one", "two"):
        async with AsyncToolGateway(storage=tmp_path / name, workspace=tmp_path) as gateway:
            await gateway.register_server(make.server())
            for turn in (arguments, dict(reversed(arguments.items()))):
                await gateway.call_tool({"toolId": "kb:echo", "arguments": turn})
            seen += await gateway.drain_audit_events()
    assert len(seen) == 4
    assert len({event["inputHash"] for event in seen}) == 1
    said = {"content": [{"text": "hello", "type": "text"}], "isError": False}
    expected = hashlib.sha256(json.dumps(said, separators=(",", ":"), sort_keys=True).encode()).hexdigest()
    assert {event["outputHash"] for event in seen} == {expected}
