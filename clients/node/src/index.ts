/**
 * ToolGateway for Node: the nine methods of AWF's tool gateway, in a process of its own that this class starts.
 *
 * AWF_GATEWAY_COMMAND is the command to start instead of `awf` (words are parted by spaces; a JSON list of words also
 * does). AWF_GATEWAY_DISABLE=1 makes the constructor refuse.
 */

import { GatewayError } from "./errors.js";
import { Lines } from "./lines.js";
import type {
  ArtifactPage,
  GatewayEvent,
  GrantRequest,
  MCPToolResult,
  McpManifest,
  McpServerConfig,
  ToolAuditEvent,
  ToolGatewaySnapshot,
  ToolInvocation,
  ToolRegistryEntry,
} from "./types.js";

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

const OPTIONS = ["storage", "config", "workspace", "user", "session", "command", "env"] as const;
const CALL_OPTIONS = ["signal"] as const;

export type GatewayListener = (event: GatewayEvent) => void;

export class ToolGateway {
  readonly #lines: Lines;
  readonly #opened: Promise<unknown>;
  readonly #listeners = new Set<GatewayListener>();

  /** Throws `GatewayError` for options that nobody knows; those of the gateway are told by the first call. */
  constructor(options: ToolGatewayOptions = {}) {
    requireKeys(options, OPTIONS, "ToolGateway");
    const env = options.env ?? process.env;
    if (env["AWF_GATEWAY_DISABLE"] === "1" || process.env["AWF_GATEWAY_DISABLE"] === "1") {
      const hint = "Unset AWF_GATEWAY_DISABLE.";
      throw new GatewayError("CLIENT.DISABLED", "The tool gateway is switched off (AWF_GATEWAY_DISABLE=1).", hint);
    }
    const [command = "awf", ...args] = options.command === undefined ? words(env["AWF_GATEWAY_COMMAND"]) : wordList(options.command, "`command`");
    const started = { command, args: [...args, "gateway", "api", "--stdio"], cwd: undefined, env };
    this.#lines = new Lines(started, (event) => this.#tell(event as GatewayEvent));
    const { storage, config, workspace, user, session } = options;
    this.#opened = this.#lines.request("open", [{ storage, config, workspace, user, session }]);
    this.#opened.catch(() => undefined); // told by the first call
  }

  async registerManifest(manifest: McpManifest): Promise<void> {
    await this.#ask("registerManifest", [manifest]);
  }

  async registerServer(config: McpServerConfig): Promise<void> {
    await this.#ask("registerServer", [config]);
  }

  async listTools(): Promise<ToolRegistryEntry[]> {
    return (await this.#ask("listTools", [])) as ToolRegistryEntry[];
  }

  /** Whatever comes of the call is its result. */
  async callTool(invocation: ToolInvocation, options: CallOptions = {}): Promise<MCPToolResult> {
    requireKeys(options, CALL_OPTIONS, "callTool");
    if (options.signal !== undefined && typeof options.signal?.addEventListener !== "function") {
      throw new GatewayError("USER.GATEWAY.INVALID_CALL", "`signal` is no AbortSignal.", "Write { signal: controller.signal }.");
    }
    return (await this.#ask("callTool", [invocation], options.signal)) as MCPToolResult;
  }

  /** The id of the grant. */
  async grantCapability(grant: GrantRequest): Promise<string> {
    return (await this.#ask("grantCapability", [grant])) as string;
  }

  async revokeCapability(grantId: string): Promise<void> {
    await this.#ask("revokeCapability", [grantId]);
  }

  /** Calls behind the one of this `sequence`. Go on with that of the last one. */
  async drainAuditEvents(after?: number, limit?: number): Promise<ToolAuditEvent[]> {
    return (await this.#ask("drainAuditEvents", [after ?? null, limit ?? null])) as ToolAuditEvent[];
  }

  async getSnapshot(): Promise<ToolGatewaySnapshot> {
    return (await this.#ask("getSnapshot", [])) as ToolGatewaySnapshot;
  }

  /** Forgets servers, manifests and the grants that were made here. The audit stays as it is. */
  async reset(): Promise<void> {
    await this.#ask("reset", []);
  }

  /** A page of a long result, by the address in `meta.outputSpool.uri`. */
  async readArtifact(uri: string): Promise<ArtifactPage> {
    return (await this.#ask("readArtifact", [uri])) as ArtifactPage;
  }

  /** Hear of servers, calls and approvals as they come. Gives what ends it. */
  subscribe(listener: GatewayListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Ends the servers and the process. May be called more than once. */
  async close(): Promise<void> {
    await this.#lines.close();
  }

  async #ask(method: string, params: unknown[], signal?: AbortSignal): Promise<unknown> {
    await this.#opened;
    return await this.#lines.request(method, params, signal);
  }

  #tell(event: GatewayEvent): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(event);
      } catch (error) {
        queueMicrotask(() => {
          throw error; // the listener's own affair: as an uncaught error of its program
        });
      }
    }
  }
}

function words(command: string | undefined): string[] {
  const text = command?.trim() ?? "";
  if (!text.startsWith("[")) {
    return text ? text.split(/\s+/) : [];
  }
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    found = undefined;
  }
  return wordList(found, "AWF_GATEWAY_COMMAND");
}

function wordList(found: unknown, name: string): string[] {
  if (!Array.isArray(found) || !found.every((word) => typeof word === "string") || found.length === 0) {
    throw new GatewayError("USER.GATEWAY.INVALID_CALL", `${name} is no list of words.`);
  }
  return found;
}

/** An option that nobody knows is a mistake, which would change what happens without a word. */
function requireKeys(given: unknown, known: readonly string[], what: string): void {
  const hint = `Write an object with some of: ${known.join(", ")}.`;
  if (given === null || typeof given !== "object") {
    throw new GatewayError("USER.GATEWAY.INVALID_CALL", `The options of ${what} are no object.`, hint);
  }
  for (const key in given) {
    // Also what it inherits: a signal in place of the options has nothing of its own.
    if (!known.includes(key)) {
      throw new GatewayError("USER.GATEWAY.INVALID_CALL", `${what} has no option \`${key}\`.`, hint);
    }
  }
}
