"""The values of the tool gateway and their form in JSON."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from awf.domain.manifest import (
    CapabilityGrant,
    McpManifest,
    MCPTool,
    MCPToolResult,
    ToolInvocation,
    ToolResultMeta,
    moment_of,
    moment_text,
)

TOOL = {"name": "echo", "description": "Say it again", "inputSchema": {"type": "object"}}


def test_json_has_camel_case_keys_and_values_come_back_as_they_were():
    given_ = {
        "serverId": "kb",
        "name": "KB",
        "version": "1",
        "tools": [
            {
                **TOOL,
                "annotations": {"policyAction": "file.*", "requiresConfirmation": False},
                "_meta": {"a": 1},
            }
        ],
    }
    assert msgspec.to_builtins(msgspec.convert(given_, McpManifest)) == given_


def test_keys_that_nobody_knows_are_refused():
    with pytest.raises(msgspec.ValidationError, match="mood"):
        msgspec.convert({**TOOL, "mood": 1}, MCPTool)
    with pytest.raises(msgspec.ValidationError, match="grants"):
        msgspec.convert({"toolId": "a:b", "grants": []}, ToolInvocation)


def test_a_result_always_has_success_content_and_meta_and_nothing_that_is_not_there():
    meta = ToolResultMeta(duration_ms=0, tool_name="echo", sandboxed=False, request_id="r")
    result = msgspec.to_builtins(MCPToolResult(success=False, content=[], meta=meta))
    told = {"durationMs": 0, "toolName": "echo", "sandboxed": False, "requestId": "r"}
    assert result == {"success": False, "content": [], "meta": told}
    structured = MCPToolResult(success=True, content=[], structured_content=None, meta=meta)
    assert msgspec.to_builtins(structured)["structuredContent"] is None


def test_a_grant_says_its_times_as_text():
    grant = CapabilityGrant(grant_id="g", capability="x", issued_at=moment_text(1.5))
    assert msgspec.to_builtins(grant)["issuedAt"] == "1970-01-01T00:00:01.500Z"


@settings(deadline=None)
@given(st.integers(100_000_000_000, 253_402_300_799_000))
def test_a_time_survives_being_written_and_read(milliseconds):
    assert moment_of(milliseconds) == milliseconds / 1000
    assert round(moment_of(moment_text(milliseconds / 1000)) * 1000) == milliseconds


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("2026-11-16T15:20:01Z", 1794842401.0),
        ("2026-11-16T16:20:01.250+01:00", 1794842401.25),
        (1794842401250, 1794842401.25),
        (1794842401250.0, 1794842401.25),
    ],
)
def test_times_are_taken_as_text_with_a_zone_and_as_milliseconds(written, seconds):
    assert moment_of(written) == seconds


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("tomorrow", "ISO 8601"),
        ("2026-11-16T15:20:01", "time zone"),
        (1794842401, "seconds"),
        (0, "seconds"),
        (float("nan"), "milliseconds"),
        (float("inf"), "milliseconds"),
        (10**400, "milliseconds"),
        (-1794842401250, "milliseconds"),
    ],
)
def test_what_could_be_misread_is_refused(written, why):
    with pytest.raises(ValueError, match=why):
        moment_of(written)


@pytest.mark.parametrize("seconds", [-1e300, 1e300, float("inf")])
def test_times_beyond_the_calendar_can_still_be_shown(seconds):
    assert moment_text(seconds).endswith("Z")
