// A tour of a server with the official TypeScript SDKs, 1.x (`line: 1`) and 2.x: the task comes as JSON, what was seen goes out as JSON.
import { createRequire } from "node:module";

const task = JSON.parse(process.argv[2]);
const require = createRequire(`${task.packages}/`);
const SECONDS = 20; // for one step
const NEWER = "2026-07-28";

function firstLine() {
  const schemas = require("@modelcontextprotocol/sdk/types.js");
  return {
    Client: require("@modelcontextprotocol/sdk/client/index.js").Client,
    Stdio: require("@modelcontextprotocol/sdk/client/stdio.js").StdioClientTransport,
    Http: require("@modelcontextprotocol/sdk/client/streamableHttp.js").StreamableHTTPClientTransport,
    Sse: require("@modelcontextprotocol/sdk/client/sse.js").SSEClientTransport,
    kinds: {
      "elicitation/create": schemas.ElicitRequestSchema,
      "sampling/createMessage": schemas.CreateMessageRequestSchema,
      "roots/list": schemas.ListRootsRequestSchema,
      "notifications/message": schemas.LoggingMessageNotificationSchema,
      "notifications/tools/list_changed": schemas.ToolListChangedNotificationSchema,
      "notifications/resources/updated": schemas.ResourceUpdatedNotificationSchema,
    },
  };
}

function secondLine() {
  const sdk = require("@modelcontextprotocol/client");
  return {
    Client: sdk.Client,
    Stdio: require("@modelcontextprotocol/client/stdio").StdioClientTransport,
    Http: sdk.StreamableHTTPClientTransport,
    Sse: sdk.SSEClientTransport,
    kinds: {},
  };
}

const sdk = task.line === 1 ? firstLine() : secondLine();

function deadline(verb) {
  let timer;
  const promise = new Promise((_, reject) => {
    const late = Object.assign(new Error(`${verb} took too long`), { code: null });
    timer = setTimeout(() => reject(late), SECONDS * 1000);
  });
  return { promise, done: () => clearTimeout(timer) };
}

class Tour {
  heard = [];
  waiting = [];

  constructor(client, person) {
    this.client = client;
    const on = (method, act) => {
      const set = method.startsWith("notifications/") ? "setNotificationHandler" : "setRequestHandler";
      client[set](sdk.kinds[method] ?? method, ({ params }) => act(params));
    };
    on("elicitation/create", (params) => {
      this.hear("elicitation", params.message, Object.keys(params.requestedSchema.properties).sort());
      return { action: "accept", content: { name: person } };
    });
    on("sampling/createMessage", (params) => {
      this.hear("sampling", [params.messages[0].content].flat()[0].text);
      return { role: "assistant", content: { type: "text", text: "42" }, model: "oracle" };
    });
    on("roots/list", () => {
      this.hear("roots");
      return { roots: [{ uri: "file:///home/somebody", name: "home" }] };
    });
    on("notifications/message", (params) => this.hear("log", params.level, params.data));
    on("notifications/tools/list_changed", () => this.hear("tools changed"));
    on("notifications/resources/updated", (params) => this.hear("updated", params.uri));
  }

  hear(...event) {
    this.heard.push(event);
    for (const wake of this.waiting.splice(0)) wake();
  }

  async until({ event }) {
    const wanted = JSON.stringify(event);
    while (!this.heard.some((one) => JSON.stringify(one) === wanted)) {
      await new Promise((wake) => this.waiting.push(wake));
    }
    return null;
  }

  get modern() {
    return this.protocol >= NEWER;
  }

  async list_tools() {
    return (await this.client.listTools()).tools;
  }

  call({ name, arguments: given = {} }, signal) {
    const onprogress = ({ progress, total, message }) => {
      // The 2.x line tells of its own rounds in this way, too.
      if (!message?.startsWith("Fulfilling input")) this.hear("progress", progress, total ?? null, message ?? null);
    };
    const meta = this.modern ? { _meta: { "io.modelcontextprotocol/logLevel": "info" } } : {};
    const options = { onprogress, signal };
    const params = { name, arguments: given, ...meta };
    return task.line === 1
      ? this.client.callTool(params, undefined, options)
      : this.client.callTool(params, options);
  }

  async cancel(step) {
    const abort = new AbortController();
    const call = this.call(step, abort.signal).catch(() => null);
    await this.until({ event: ["progress", 1, null, "begun"] });
    abort.abort("enough");
    await call;
    return "cancelled";
  }

  async level({ level }) {
    if (!this.modern) await this.client.setLoggingLevel(level);
    return null;
  }

  async watch({ uri }) {
    if (this.modern) {
      this.ears = await this.client.listen({ toolsListChanged: true, resourceSubscriptions: [uri] });
    } else {
      await this.client.subscribeResource({ uri });
    }
    return null;
  }

  async unwatch({ uri }) {
    if (!this.modern) await this.client.unsubscribeResource({ uri });
    return null;
  }

  async resources() {
    return (await this.client.listResources()).resources;
  }

  async templates() {
    return (await this.client.listResourceTemplates()).resourceTemplates;
  }

  async read({ uri }) {
    return (await this.client.readResource({ uri })).contents;
  }

  async prompts() {
    return (await this.client.listPrompts()).prompts;
  }

  async prompt({ name, arguments: given }) {
    return (await this.client.getPrompt({ name, arguments: given })).messages;
  }

  async complete({ prompt, argument }) {
    const ref = { type: "ref/prompt", name: prompt };
    return (await this.client.complete({ ref, argument })).completion.values;
  }

  async go(steps) {
    const done = [];
    for (const step of steps) {
      const { promise: late, done: inTime } = deadline(step.do);
      try {
        done.push(await Promise.race([late, this[step.do](step)]));
      } catch (error) {
        if (error.code !== null && typeof error.code !== "number") throw error;
        done.push({ error: { code: error.code, message: error.message } });
      }
      inTime();
    }
    return done;
  }
}

function transportTo(target) {
  if (target.command) {
    const [command, ...args] = target.command;
    return new sdk.Stdio({ command, args, env: target.env, stderr: "ignore" });
  }
  return new (target.way === "sse" ? sdk.Sse : sdk.Http)(new URL(target.url));
}

async function visit(target) {
  const capabilities = { elicitation: {}, sampling: {}, roots: {} };
  const negotiation = task.line === 1 ? {} : { versionNegotiation: { mode: target.mode } };
  const client = new sdk.Client({ name: "tour", version: "1" }, { capabilities, ...negotiation });
  const tour = new Tour(client, target.person ?? "Ada");
  const transport = transportTo(target);
  if (task.line === 1) {
    const inner = transport.setProtocolVersion?.bind(transport);
    transport.setProtocolVersion = (version) => { tour.protocol = version; inner?.(version); };
  }
  await client.connect(transport);
  tour.protocol ??= client.getNegotiatedProtocolVersion();
  const steps = await tour.go(task.steps);
  await tour.ears?.close();
  if (transport.terminateSession) await transport.terminateSession().catch(() => {});
  await client.close();
  return { protocol: tour.protocol, steps, heard: tour.heard };
}

const seen = {};
for (const [name, target] of Object.entries(task.targets)) {
  try {
    seen[name] = await visit(target);
  } catch (error) {
    seen[name] = { failed: `${error.stack} ${error.cause ?? ""}` };
  }
}
console.log(JSON.stringify(seen));
process.exit(0);
