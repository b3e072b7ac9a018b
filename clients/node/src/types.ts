// Made by `make docs` from src/awf/domain/manifest.py. Do not edit.

/** What is known of a tool before it is called. */
export interface ToolAnnotations {
  policyAction?: "connector.action" | "connector.read" | "file.*" | "file.read" | "file.write" | "network.request" | null;
  requiredScopes?: Array<string>;
  requiresConfirmation?: boolean | null;
  concurrency?: "exclusive" | "parallel" | null;
  category?: "communication" | "control" | "core" | "external" | "knowledge" | null;
  classification?: "Confidential" | "Public" | "Secret" | "confidential" | "public" | "secret" | null;
  integrity?: "trusted" | "untrusted" | null;
  openWorldHint?: boolean | null;
  title?: string | null;
  readOnly?: boolean | null;
  estimatedDuration?: "fast" | "instant" | "medium" | "slow" | null;
  readOnlyHint?: boolean | null;
  destructiveHint?: boolean | null;
  idempotentHint?: boolean | null;
}

export interface MCPTool {
  name: string;
  description: string;
  inputSchema: Record<string, unknown>;
  title?: string | null;
  outputSchema?: Record<string, unknown> | null;
  annotations?: ToolAnnotations | null;
  icons?: Array<Record<string, unknown>>;
  execution?: Record<string, unknown>;
  ui?: Record<string, unknown>;
  metadata?: Record<string, unknown>;
  _meta?: Record<string, unknown>;
}

/** A server and the tools that it is to offer. */
export interface McpManifest {
  serverId: string;
  name: string;
  version: string;
  description?: string | null;
  tools: Array<MCPTool>;
}

/** OAuth client credentials of ours for a server at an address. */
export interface ServerAuth {
  tokenUrl: string;
  clientId: string;
  clientSecret: string;
  scope?: string;
  resource?: string;
}

export interface ExecutionLimits {
  timeoutMs?: number | null;
  maxOutputBytes?: number | null;
  maxOutputLines?: number | null;
}

/** How a server is reached. Texts may hold references: `${env:NAME}`, `${file:PATH}`. */
export interface McpServerConfig {
  serverId: string;
  transport: "http" | "sse" | "stdio" | "streamableHttp" | "websocket";
  manifest: McpManifest;
  command?: string | null;
  args?: Array<string>;
  env?: Record<string, string>;
  cwd?: string | null;
  url?: string | null;
  headers?: Record<string, string>;
  auth?: ServerAuth | null;
  name?: string | null;
  description?: string | null;
  enabled?: boolean;
  timeoutMs?: number | null;
  sandboxProfile?: string | null;
  limits?: ExecutionLimits | null;
}

export interface ToolRegistryEntry {
  toolId: string;
  serverId: string;
  tool: MCPTool;
}

/** Where a grant counts. What is left empty does not matter. */
export interface GrantScope {
  workspace?: string;
  user?: string;
  session?: string;
}

/** What is granted. The gateway chooses an id, and takes the time for that of the issue, where they are left out. */
export interface GrantRequest {
  capability: string;
  grantId?: string | null;
  issuedAt?: string | number | null;
  expiresAt?: string | number | null;
  scope?: GrantScope | null;
  approvalId?: string | null;
}

export interface CapabilityGrant {
  grantId: string;
  capability: string;
  issuedAt: string;
  expiresAt?: string | null;
  scope?: GrantScope | null;
  approvalId?: string | null;
}

export interface ToolInvocation {
  toolId: string;
  requestId?: string | null;
  arguments?: Record<string, unknown>;
  grantIds?: Array<string>;
  redactKeys?: Array<string>;
  timeoutMs?: number | null;
}

export interface ToolError {
  code: "CONFLICT" | "EXECUTION_FAILED" | "INVALID_ARGUMENTS" | "PERMISSION_DENIED" | "RATE_LIMITED" | "RESOURCE_NOT_FOUND" | "SANDBOX_VIOLATION" | "TIMEOUT";
  message: string;
  details?: Record<string, unknown>;
}

/** Where the whole of a result is that was too long. */
export interface OutputSpool {
  kept: boolean;
  byteSize: number;
  lineCount: number;
  shownBytes: number;
  shownLines: number;
  uri?: string | null;
  contentHash?: string | null;
}

export interface ToolResultMeta {
  durationMs: number;
  toolName: string;
  sandboxed: boolean;
  requestId: string;
  outputSpool?: OutputSpool | null;
}

export interface MCPToolResult {
  success: boolean;
  content: Array<Record<string, unknown>>;
  structuredContent?: unknown;
  error?: ToolError | null;
  meta: ToolResultMeta;
}

/** A page of a result that was put aside, as MCP has resources. */
export interface ArtifactPage {
  contents: Array<Record<string, unknown>>;
}

/** One call. What only some have is empty for the others. */
export interface ToolAuditEvent {
  sequence: number;
  toolId: string;
  requestId: string;
  grantIds: Array<string>;
  inputHash: string;
  outputHash: string;
  success: boolean | null;
  durationMs: number;
  createdAt: string;
  outcome: "" | "denied" | "failure" | "open" | "success" | "unknown";
  decision: string;
  reason: string;
  rule: string;
  riskTags: Array<string>;
  error: string;
  context: string;
  door: string;
  client: string;
  labelBefore: string;
  labelAfter: string;
  shadowed: string;
  traceId: string;
}

export interface ToolGatewaySnapshot {
  tools: Array<ToolRegistryEntry>;
  grants: Array<CapabilityGrant>;
  auditCursor: number;
}

export interface GatewayEvent {
  type: "approval_required" | "approval_resolved" | "server_registered" | "server_unregistered" | "tool_called" | "tool_changed" | "tool_completed" | "tool_error";
  serverId?: string;
  toolId?: string;
  requestId?: string;
  durationMs?: number | null;
  errorCode?: string;
  approvalId?: string;
  status?: string;
  change?: "" | "changed" | "returned" | "vanished";
  fields?: Array<string>;
}
