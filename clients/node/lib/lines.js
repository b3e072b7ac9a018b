/** JSON-RPC over the standard streams of a program that is started: one message a line. */
import { spawn } from "node:child_process";
import { GatewayError } from "./errors.js";
import { exactJson } from "./json.js";
const LAST_WORDS = 2000; // characters of standard error that an error may quote
const LONGEST = 256 * 1024 * 1024; // bytes of one answer
const LONGEST_REQUEST = 10 * 1024 * 1024; // bytes; the gateway does not read more
const MOST_CALLS = 200; // sent and not answered; the gateway reads nothing while it works on 256
const DEEPEST = 500; // lists and objects inside each other
const GRACE_MS = 5000;
export class Lines {
    #child;
    #ended;
    #onEvent;
    #waiting = new Map();
    #unsent = new Map(); // calls that come when there are enough of them
    #calls = new Set(); // those that the gateway works on
    #rest = [];
    #kept = 0;
    #last = 0;
    #said = "";
    #over;
    constructor(started, onEvent) {
        this.#onEvent = onEvent;
        this.#child = spawn(started.command, started.args, {
            cwd: started.cwd,
            env: started.env,
            stdio: ["pipe", "pipe", "pipe"],
        });
        this.#ended = new Promise((resolve) => {
            this.#child.once("error", (error) => {
                this.#lose(`\`${started.command}\` could not be started: ${error.message}`);
                resolve();
            });
            this.#child.once("close", (status, signal) => {
                this.#lose(`The gateway's process has ended (${signal ?? `status ${status}`}). ${this.#said}`.trim());
                resolve();
            });
        });
        this.#child.stdin?.on("error", () => undefined); // its end is told by `close`
        this.#child.stdout?.on("data", (data) => this.#hear(data));
        this.#child.stderr?.setEncoding("utf8");
        this.#child.stderr?.on("data", (text) => {
            this.#said = (this.#said + text).slice(-LAST_WORDS);
        });
        this.#letGo();
    }
    /** Nobody has to close it for the program to end: only calls that wait keep it going. */
    #letGo() {
        this.#child.unref();
        for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) {
            stream?.unref?.();
        }
    }
    #hold(held) {
        const verb = held ? "ref" : "unref";
        this.#child[verb]();
        this.#child.stdout?.[verb]?.();
    }
    request(method, params, signal) {
        if (this.#over !== undefined) {
            return Promise.reject(this.#over);
        }
        if (signal?.aborted) {
            return Promise.reject(signal.reason);
        }
        let line;
        const id = ++this.#last;
        try {
            // A scope or an end that is not set would make a grant that counts everywhere, and for ever.
            line = exactJson({ jsonrpc: "2.0", id, method, params }, method === "grantCapability");
        }
        catch (error) {
            const text = `A value has no JSON form: ${error.message}`;
            return Promise.reject(new GatewayError("USER.GATEWAY.INVALID_CALL", text));
        }
        const trouble = unreadable(line);
        if (trouble !== "") {
            return Promise.reject(new GatewayError("USER.GATEWAY.INVALID_CALL", trouble));
        }
        return new Promise((resolve, reject) => {
            const abort = () => {
                if (!this.#unsent.has(id)) {
                    this.#write({ jsonrpc: "2.0", method: "cancel", params: { id } });
                }
                this.#waiting.get(id)?.reject(signal?.reason); // whatever the gateway still says of it
            };
            const done = () => {
                signal?.removeEventListener("abort", abort);
                this.#waiting.delete(id);
                this.#unsent.delete(id);
                this.#calls.delete(id);
                this.#sendCalls();
                if (this.#waiting.size === 0) {
                    this.#hold(false);
                }
            };
            signal?.addEventListener("abort", abort, { once: true });
            this.#waiting.set(id, {
                resolve: (value) => (done(), resolve(value)),
                reject: (error) => (done(), reject(error)),
            });
            this.#hold(true);
            if (method === "callTool") {
                this.#unsent.set(id, line);
                this.#sendCalls();
            }
            else {
                this.#child.stdin?.write(`${line}\n`);
            }
        });
    }
    /** What is not a call never waits behind hundreds of them. */
    #sendCalls(most = MOST_CALLS) {
        for (const [id, line] of this.#unsent) {
            if (this.#calls.size >= most) {
                return;
            }
            this.#unsent.delete(id);
            this.#calls.add(id);
            this.#child.stdin?.write(`${line}\n`);
        }
    }
    /** Waits until the process is gone; one that does not go is made to. */
    async close() {
        this.#over ??= new GatewayError("USER.GATEWAY.CLOSED", "The tool gateway is closed.", "Make a new one.");
        this.#child.ref();
        this.#sendCalls(Infinity);
        this.#child.stdin?.end();
        const timers = ["SIGTERM", "SIGKILL"].map((name, at) => setTimeout(() => this.#child.kill(name), GRACE_MS * (at + 1)));
        await this.#ended;
        timers.forEach(clearTimeout);
    }
    #write(message) {
        this.#child.stdin?.write(`${JSON.stringify(message)}\n`);
    }
    #hear(data) {
        let start = 0;
        for (let end = data.indexOf(10); end >= 0; end = data.indexOf(10, start)) {
            const line = Buffer.concat([...this.#rest, data.subarray(start, end)]).toString("utf8");
            this.#rest = [];
            this.#kept = 0;
            start = end + 1;
            this.#take(line);
        }
        if (start < data.length) {
            this.#rest.push(data.subarray(start));
            this.#kept += data.length - start;
            if (this.#kept > LONGEST) {
                this.#rest = [];
                this.#child.kill();
            }
        }
    }
    #take(line) {
        let message;
        try {
            message = JSON.parse(line);
        }
        catch {
            this.#lose(`The gateway said something that is not JSON: ${line.slice(0, 200)}`);
            this.#child.kill();
            return;
        }
        if (message.method === "event") {
            this.#onEvent(message.params);
            return;
        }
        const waiting = typeof message.id === "number" ? this.#waiting.get(message.id) : undefined;
        if (waiting !== undefined && message.error !== undefined) {
            waiting.reject(asError(message.error));
        }
        else {
            waiting?.resolve(message.result);
        }
    }
    #lose(message) {
        this.#over ??= new GatewayError("CLIENT.LOST", message, "Make a new one.");
        for (const waiting of [...this.#waiting.values()]) {
            waiting.reject(this.#over);
        }
    }
}
/** Why the gateway could not even tell which request this is; empty when it can. */
function unreadable(line) {
    if (Buffer.byteLength(line) >= LONGEST_REQUEST) {
        return `The request has more than ${LONGEST_REQUEST / 1024 / 1024} MiB.`;
    }
    return line.length > DEEPEST && depth(line) > DEEPEST ? `The request is nested more than ${DEEPEST} levels deep.` : "";
}
function depth(json) {
    let deepest = 0;
    let now = 0;
    let inText = false;
    for (let at = 0; at < json.length; at++) {
        const sign = json[at];
        if (inText) {
            if (sign === "\\") {
                at++;
            }
            else if (sign === '"') {
                inText = false;
            }
        }
        else if (sign === '"') {
            inText = true;
        }
        else if (sign === "[" || sign === "{") {
            deepest = Math.max(deepest, ++now);
        }
        else if (sign === "]" || sign === "}") {
            now--;
        }
    }
    return deepest;
}
function asError(error) {
    const data = (error.data ?? {});
    const code = data.code ?? `RPC.${String(error.code)}`;
    return new GatewayError(code, String(error.message), data.hint ?? "", data.problems ?? []);
}
