// The official TypeScript SDK as an ACP client: plays a scenario (JSON, first argument) and prints what was seen.
// `acp_clients.py` says what a scenario is.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { openSync, closeSync } from "node:fs";
import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const scenario = JSON.parse(process.argv[2]);
const found = createRequire(`${scenario.packages}/`).resolve("@agentclientprotocol/sdk");
const acp = await import(pathToFileURL(found).href);
const { session: sessionMethods } = acp.methods.agent;

const KINDS = { allow: "allow_once", allow_always: "allow_always", deny: "reject_once", deny_always: "reject_always" };
const told = { initialize: [], steps: [], exits: [], sessions: {} };
const permissions = [...scenario.permissions];
const commands = {};
let step;

function promised() {
  let resolve;
  const promise = new Promise((done) => { resolve = done; });
  return { promise, resolve };
}
let wanted = promised(), cancelled = promised(), news = promised();

function begin(action) {
  step = { ...action, updates: [], questions: [] };
  told.steps.push(step);
  wanted = promised();
  cancelled = promised();
}

// -- the client side: writes down what is shown, and answers in the order of the scenario

function update({ params }) {
  step.updates.push({ session: params.sessionId, ...params.update });
  if (params.update.sessionUpdate === "available_commands_update") {
    commands[params.sessionId] = params.update.availableCommands;
    news.resolve();
  }
  if (params.update.sessionUpdate === step.cancel_on) wanted.resolve();
}

async function permission({ params }) {
  const policy = permissions.length > 1 ? permissions.shift() : permissions[0];
  step.questions.push({ session: params.sessionId, call: params.toolCall, policy });
  if (step.cancel_on === "permission") wanted.resolve();
  if (policy === "hold") await cancelled.promise;
  const chosen = params.options.find(({ kind }) => kind === KINDS[policy]);
  return { outcome: chosen ? { outcome: "selected", optionId: chosen.optionId } : { outcome: "cancelled" } };
}

function form({ params }) {
  step.questions.push({ form: params, message: params.message });
  if (typeof scenario.form === "object") return { action: "accept", content: scenario.form };
  return { action: scenario.form };
}

function connect() {
  const stderr = openSync(scenario.stderr, "a");
  const [command, ...args] = scenario.command;
  const child = spawn(command, args, { cwd: scenario.cwd, env: scenario.env, stdio: ["pipe", "pipe", stderr] });
  closeSync(stderr);
  const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
  const app = acp.client({ name: "driver" })
    .onNotification(acp.methods.client.session.update, update)
    .onRequest(acp.methods.client.session.requestPermission, permission);
  if (scenario.capabilities.elicitation) app.onRequest(acp.methods.client.elicitation.create, form);
  const exit = once(child, "exit");
  return { child, exit, connection: app.connect(stream) };
}

// -- what a scenario can say

const named = (action) => told.sessions[action.session] ?? action.session;
const { cwd } = scenario;

const doing = {
  async new(agent, action) {
    const answer = await agent.request(sessionMethods.new, { cwd, mcpServers: action.servers ?? [] });
    told.sessions[action.session] = answer.sessionId;
    return answer;
  },
  async commands(agent, action) {
    while (!(named(action) in commands)) {
      news = promised();
      await news.promise;
    }
    return commands[named(action)];
  },
  async prompt(agent, action) {
    const prompt = action.blocks ?? [{ type: "text", text: action.text }];
    const answer = agent.request(sessionMethods.prompt, { sessionId: named(action), prompt });
    let timer;
    if (action.cancel_after_ms !== undefined) timer = setTimeout(wanted.resolve, action.cancel_after_ms);
    wanted.promise.then(async () => {
      await agent.notify(sessionMethods.cancel, { sessionId: named(action) });
      cancelled.resolve();
    });
    try {
      return await answer;
    } finally {
      clearTimeout(timer);
    }
  },
  load: (agent, action) =>
    agent.request(sessionMethods.load, { sessionId: named(action), cwd, mcpServers: action.servers ?? [] }),
  resume: (agent, action) => agent.request(sessionMethods.resume, { sessionId: named(action), cwd }),
  list: (agent, action) => agent.request(sessionMethods.list, { cwd: action.cwd ?? cwd }),
  close: (agent, action) => agent.request(sessionMethods.close, { sessionId: named(action) }),
  delete: (agent, action) => agent.request(sessionMethods.delete, { sessionId: named(action) }),
  set_mode: (agent, action) =>
    agent.request(sessionMethods.setMode, { sessionId: named(action), modeId: action.mode }),
  set_option: (agent, action) =>
    agent.request(sessionMethods.setConfigOption, {
      sessionId: named(action), configId: action.option, value: action.value,
    }),
};

async function bounded(work) {
  let timer;
  const late = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error(`no answer within ${scenario.seconds} s`)), scenario.seconds * 1000);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function take(agent, action) {
  begin(action);
  const mine = step;
  try {
    mine.result = (await bounded(doing[action.do](agent, action))) ?? {};
  } catch (error) {
    if (!(error instanceof acp.RequestError)) throw error;
    mine.error = { code: error.code, message: error.message, data: error.data };
  }
}

const actions = [...scenario.actions];
do {
  const { child, exit, connection } = connect();
  try {
    begin({ do: "initialize" });
    const hello = { protocolVersion: 1, clientInfo: { name: "driver", version: "1" } };
    if (Object.keys(scenario.capabilities).length) hello.clientCapabilities = scenario.capabilities;
    told.initialize.push(await bounded(connection.agent.request(acp.methods.agent.initialize, hello)));
    for (let action = actions.shift(); action && action.do !== "restart"; action = actions.shift()) {
      await take(connection.agent, action);
    }
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  }
  child.stdin.end();
  const [status] = await bounded(exit);
  told.exits.push(status);
  await bounded(connection.closed);
} while (actions.length);
console.log(JSON.stringify(told));
