/**
 * ToolGateway for Node: the nine methods of AWF's tool gateway, in a process of its own that this class starts.
 *
 * AWF_GATEWAY_COMMAND is the command to start instead of `awf` (words are parted by spaces; a JSON list of words also
 * does). AWF_GATEWAY_DISABLE=1 makes the constructor refuse.
 */
import type { ArtifactPage, GatewayEvent, GrantRequest, MCPToolResult, McpManifest, McpServerConfig, ToolAuditEvent, ToolGatewaySnapshot, ToolInvocation, ToolRegistryEntry } from "./types.js";
export { GatewayError, type GatewayProblem } from "./errors.js";
export type * from "./types.js";
export interface ToolGatewayOptions {
    /** A folder for grants, approvals, long results and the audit; without it nothing is kept. */
    storage?: string;
    /** The path of a gateway's file, or its keys for the gate (`policy`, `limits`, …). */
    config?: string | Record<string, unknown>;
    /** The folder in which servers work. */
    workspace?: string;
    user?: string;
    /** The security context. */
    session?: string;
    /** The command to start, with its first arguments, instead of `awf`. */
    command?: string[];
    /** The environment of the gateway and of the servers it starts, instead of this process's. */
    env?: Record<string, string | undefined>;
}
export interface CallOptions {
    /** Gives the call up; the promise is rejected with the signal's reason. */
    signal?: AbortSignal;
}
export type GatewayListener = (event: GatewayEvent) => void;
export declare class ToolGateway {
    #private;
    /** Throws `GatewayError` for options that nobody knows; those of the gateway are told by the first call. */
    constructor(options?: ToolGatewayOptions);
    registerManifest(manifest: McpManifest): Promise<void>;
    registerServer(config: McpServerConfig): Promise<void>;
    listTools(): Promise<ToolRegistryEntry[]>;
    /** Whatever comes of the call is its result. */
    callTool(invocation: ToolInvocation, options?: CallOptions): Promise<MCPToolResult>;
    /** The id of the grant. */
    grantCapability(grant: GrantRequest): Promise<string>;
    revokeCapability(grantId: string): Promise<void>;
    /** Calls behind the one of this `sequence`. Go on with that of the last one. */
    drainAuditEvents(after?: number, limit?: number): Promise<ToolAuditEvent[]>;
    getSnapshot(): Promise<ToolGatewaySnapshot>;
    /** Forgets servers, manifests and the grants that were made here. The audit stays as it is. */
    reset(): Promise<void>;
    /** A page of a long result, by the address in `meta.outputSpool.uri`. */
    readArtifact(uri: string): Promise<ArtifactPage>;
    /** Hear of servers, calls and approvals as they come. Gives what ends it. */
    subscribe(listener: GatewayListener): () => void;
    /** Ends the servers and the process. May be called more than once. */
    close(): Promise<void>;
}
