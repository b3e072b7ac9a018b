/**
 * ToolGateway for Node: the nine methods of AWF's tool gateway, in a process of its own that this class starts.
 *
 * AWF_GATEWAY_COMMAND is the command to start instead of `awf` (words are parted by spaces; a JSON list of words also
 * does). AWF_GATEWAY_DISABLE=1 makes the constructor refuse.
 */
import { GatewayError } from "./errors.js";
import { Lines } from "./lines.js";
export { GatewayError } from "./errors.js";
const OPTIONS = ["storage", "config", "workspace", "user", "session", "command", "env"];
const CALL_OPTIONS = ["signal"];
export class ToolGateway {
    #lines;
    #opened;
    #listeners = new Set();
    /** Throws `GatewayError` for options that nobody knows; those of the gateway are told by the first call. */
    constructor(options = {}) {
        requireKeys(options, OPTIONS, "ToolGateway");
        const env = options.env ?? process.env;
        if (env["AWF_GATEWAY_DISABLE"] === "1" || process.env["AWF_GATEWAY_DISABLE"] === "1") {
            const hint = "Unset AWF_GATEWAY_DISABLE.";
            throw new GatewayError("CLIENT.DISABLED", "The tool gateway is switched off (AWF_GATEWAY_DISABLE=1).", hint);
        }
        const [command = "awf", ...args] = options.command === undefined ? words(env["AWF_GATEWAY_COMMAND"]) : wordList(options.command, "`command`");
        const started = { command, args: [...args, "gateway", "api", "--stdio"], cwd: undefined, env };
        this.#lines = new Lines(started, (event) => this.#tell(event));
        const { storage, config, workspace, user, session } = options;
        this.#opened = this.#lines.request("open", [{ storage, config, workspace, user, session }]);
        this.#opened.catch(() => undefined); // told by the first call
    }
    async registerManifest(manifest) {
        await this.#ask("registerManifest", [manifest]);
    }
    async registerServer(config) {
        await this.#ask("registerServer", [config]);
    }
    async listTools() {
        return (await this.#ask("listTools", []));
    }
    /** Whatever comes of the call is its result. */
    async callTool(invocation, options = {}) {
        requireKeys(options, CALL_OPTIONS, "callTool");
        if (options.signal !== undefined && typeof options.signal?.addEventListener !== "function") {
            throw new GatewayError("USER.GATEWAY.INVALID_CALL", "`signal` is no AbortSignal.", "Write { signal: controller.signal }.");
        }
        return (await this.#ask("callTool", [invocation], options.signal));
    }
    /** The id of the grant. */
    async grantCapability(grant) {
        return (await this.#ask("grantCapability", [grant]));
    }
    async revokeCapability(grantId) {
        await this.#ask("revokeCapability", [grantId]);
    }
    /** Calls behind the one of this `sequence`. Go on with that of the last one. */
    async drainAuditEvents(after, limit) {
        return (await this.#ask("drainAuditEvents", [after ?? null, limit ?? null]));
    }
    async getSnapshot() {
        return (await this.#ask("getSnapshot", []));
    }
    /** Forgets servers, manifests and the grants that were made here. The audit stays as it is. */
    async reset() {
        await this.#ask("reset", []);
    }
    /** A page of a long result, by the address in `meta.outputSpool.uri`. */
    async readArtifact(uri) {
        return (await this.#ask("readArtifact", [uri]));
    }
    /** Hear of servers, calls and approvals as they come. Gives what ends it. */
    subscribe(listener) {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
    }
    /** Ends the servers and the process. May be called more than once. */
    async close() {
        await this.#lines.close();
    }
    async #ask(method, params, signal) {
        await this.#opened;
        return await this.#lines.request(method, params, signal);
    }
    #tell(event) {
        for (const listener of [...this.#listeners]) {
            try {
                listener(event);
            }
            catch (error) {
                queueMicrotask(() => {
                    throw error; // the listener's own affair: as an uncaught error of its program
                });
            }
        }
    }
}
function words(command) {
    const text = command?.trim() ?? "";
    if (!text.startsWith("[")) {
        return text ? text.split(/\s+/) : [];
    }
    let found;
    try {
        found = JSON.parse(text);
    }
    catch {
        found = undefined;
    }
    return wordList(found, "AWF_GATEWAY_COMMAND");
}
function wordList(found, name) {
    if (!Array.isArray(found) || !found.every((word) => typeof word === "string") || found.length === 0) {
        throw new GatewayError("USER.GATEWAY.INVALID_CALL", `${name} is no list of words.`);
    }
    return found;
}
/** An option that nobody knows is a mistake, which would change what happens without a word. */
function requireKeys(given, known, what) {
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
