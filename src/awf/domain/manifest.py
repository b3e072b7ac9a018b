"""What programs tell the tool gateway, and what it tells them. In JSON keys are camelCase and enums snake_case.

A time is written as ISO 8601 in UTC with milliseconds: `2026-11-16T15:20:01.123Z`. Taken are such texts with any offset, and
numbers of milliseconds since 1970, as `Date.now()` gives them.
"""

from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import msgspec

from awf.domain.grant import GrantScope
from awf.domain.label import Classification, Integrity
from awf.domain.policy import Action
from awf.domain.tool import ToolErrorCode

__all__ = [
    "ArtifactPage",
    "CapabilityGrant",
    "ExecutionLimits",
    "GatewayEvent",
    "GatewayEventType",
    "GrantRequest",
    "MCPTool",
    "MCPToolResult",
    "McpManifest",
    "McpServerConfig",
    "McpTransport",
    "OutputSpool",
    "ServerAuth",
    "ToolAnnotations",
    "ToolAuditEvent",
    "ToolError",
    "ToolGatewaySnapshot",
    "ToolInvocation",
    "ToolRegistryEntry",
    "ToolResultMeta",
    "moment_of",
    "moment_text",
]

McpTransport = Literal["stdio", "streamableHttp", "http", "sse", "websocket"]  # `http` means `streamableHttp`
GatewayEventType = Literal[
    "server_registered",
    "server_unregistered",
    "tool_called",
    "tool_completed",
    "tool_error",
    "tool_changed",  # its server defines it otherwise than the manifest, has it no more, or has it again
    "approval_required",
    "approval_resolved",
]
# Whoever takes milliseconds for seconds, or the other way round, is off by centuries.
_LEAST_MILLISECONDS, _MOST_MILLISECONDS = 1e11, 253402300799999.0


class _Given(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """What a program says. Keys that nobody knows are a mistake."""


class _Told(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What the gateway says. What has a default may be left out."""


# -- servers and their tools -----------------------------------------------------------------------------------------


class ToolAnnotations(_Given, frozen=True, kw_only=True):
    """What is known of a tool before it is called."""

    policy_action: Action | None = None
    required_scopes: list[str] = []
    requires_confirmation: bool | None = None
    concurrency: Literal["parallel", "exclusive"] | None = None  # `exclusive`: one call at a time
    category: Literal["core", "knowledge", "external", "communication", "control"] | None = None
    classification: Classification | None = None
    integrity: Integrity | None = None
    open_world_hint: bool | None = None
    # These are for whoever shows or chooses tools.
    title: str | None = None
    read_only: bool | None = None
    estimated_duration: Literal["instant", "fast", "medium", "slow"] | None = None
    read_only_hint: bool | None = None
    destructive_hint: bool | None = None
    idempotent_hint: bool | None = None


class MCPTool(_Given, frozen=True, kw_only=True):
    name: str
    description: str
    input_schema: dict[str, Any]
    title: str | None = None
    output_schema: dict[str, Any] | None = None
    annotations: ToolAnnotations | None = None
    icons: list[dict[str, Any]] = []
    execution: dict[str, Any] = {}
    ui: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    meta: dict[str, Any] = msgspec.field(default={}, name="_meta")

    @property
    def action(self) -> Action | None:
        return self.annotations.policy_action if self.annotations is not None else None


class McpManifest(_Given, frozen=True, kw_only=True):
    """A server and the tools that it is to offer."""

    server_id: str
    name: str
    version: str
    description: str | None = None
    tools: list[MCPTool]


class ServerAuth(_Given, frozen=True, kw_only=True):
    """OAuth client credentials of ours for a server at an address."""

    token_url: str
    client_id: str
    client_secret: str
    scope: str = ""
    resource: str = ""


class ExecutionLimits(_Given, frozen=True, kw_only=True):
    timeout_ms: int | None = None
    max_output_bytes: int | None = None
    max_output_lines: int | None = None


class McpServerConfig(_Given, frozen=True, kw_only=True):
    """How a server is reached. Texts may hold references: `${env:NAME}`, `${file:PATH}`."""

    server_id: str
    transport: McpTransport
    manifest: McpManifest
    command: str | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] = {}
    auth: ServerAuth | None = None
    name: str | None = None
    description: str | None = None
    enabled: bool = True
    timeout_ms: int | None = None
    sandbox_profile: str | None = None
    limits: ExecutionLimits | None = None


class ToolRegistryEntry(_Told, frozen=True, kw_only=True):
    tool_id: str  # `serverId:name`
    server_id: str
    tool: MCPTool


# -- grants ----------------------------------------------------------------------------------------------------------


class GrantRequest(_Given, frozen=True, kw_only=True):
    """What is granted. The gateway chooses an id, and takes the time for that of the issue, where they are left out."""

    capability: str
    grant_id: str | None = None
    issued_at: str | int | float | None = None
    expires_at: str | int | float | None = None
    scope: GrantScope | None = None
    approval_id: str | None = None


class CapabilityGrant(_Told, frozen=True, kw_only=True):
    grant_id: str
    capability: str
    issued_at: str
    expires_at: str | None = None
    scope: GrantScope | None = None
    approval_id: str | None = None


# -- calls -----------------------------------------------------------------------------------------------------------


class ToolInvocation(_Given, frozen=True, kw_only=True):
    tool_id: str
    request_id: str | None = None
    arguments: dict[str, Any] = {}
    grant_ids: list[str] = []
    redact_keys: list[str] = []
    timeout_ms: int | None = None


class ToolError(_Told, frozen=True, kw_only=True):
    code: ToolErrorCode
    message: str
    details: dict[str, Any] = {}


class OutputSpool(_Told, frozen=True, kw_only=True):
    """Where the whole of a result is that was too long."""

    kept: bool
    byte_size: int
    line_count: int
    shown_bytes: int
    shown_lines: int
    uri: str | None = None  # none when it could not be kept
    content_hash: str | None = None


class ToolResultMeta(_Told, frozen=True, kw_only=True):
    duration_ms: int
    tool_name: str
    sandboxed: bool
    request_id: str
    output_spool: OutputSpool | None = None


class MCPToolResult(_Told, frozen=True, kw_only=True):
    success: bool
    content: list[dict[str, Any]]
    structured_content: Any = msgspec.UNSET
    error: ToolError | None = None
    meta: ToolResultMeta


class ArtifactPage(_Told, frozen=True, kw_only=True):
    """A page of a result that was put aside, as MCP has resources."""

    contents: list[dict[str, Any]]


# -- what happened ---------------------------------------------------------------------------------------------------


class ToolAuditEvent(_Told, frozen=True, kw_only=True):
    """One call. What only some have is empty for the others."""

    sequence: int
    tool_id: str
    request_id: str
    grant_ids: list[str]
    input_hash: str
    output_hash: str
    success: bool | None  # null: the process ended before anyone could say
    duration_ms: int
    created_at: str
    outcome: Literal["success", "failure", "denied", "unknown", "open", ""]
    decision: str
    reason: str
    rule: str
    risk_tags: list[str]
    error: str
    context: str
    door: str
    client: str
    label_before: str
    label_after: str
    shadowed: str
    trace_id: str


class ToolGatewaySnapshot(_Told, frozen=True, kw_only=True):
    tools: list[ToolRegistryEntry]
    grants: list[CapabilityGrant]
    audit_cursor: int


class GatewayEvent(_Told, frozen=True, kw_only=True):
    type: GatewayEventType
    server_id: str = ""
    tool_id: str = ""
    request_id: str = ""
    duration_ms: int | None = None
    error_code: str = ""
    approval_id: str = ""
    status: str = ""  # of an approval
    change: Literal["changed", "vanished", "returned", ""] = ""
    fields: list[str] = []  # of the definition, those that changed


# -- times -----------------------------------------------------------------------------------------------------------


def moment_text(seconds: float) -> str:
    """Seconds since 1970 → text. What is out of the calendar is its last or first moment."""
    bounded = min(max(seconds, -62135596800.0), _MOST_MILLISECONDS / 1000)
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=round(bounded * 1000))
    text = moment.isoformat(timespec="milliseconds")
    return text.removesuffix("+00:00") + "Z"


def moment_of(given: str | float) -> float:
    """Text or milliseconds → seconds since 1970. Raises `ValueError` with what is wrong, in words."""
    if isinstance(given, str):
        try:
            found = datetime.fromisoformat(given)
        except ValueError:
            raise ValueError("is no time as ISO 8601 writes it, such as 2026-11-16T15:20:01Z") from None
        if found.tzinfo is None:
            raise ValueError("does not say in which time zone; add Z for UTC")
        return found.timestamp()
    if not _LEAST_MILLISECONDS <= given <= _MOST_MILLISECONDS:
        raise ValueError("is no number of milliseconds since 1970 (were these seconds?)")
    return given / 1000
