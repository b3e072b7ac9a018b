// What is particular to the Node class: its process, its errors, its events.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { GatewayError, ToolGateway } from "../lib/index.js";

const here = dirname(fileURLToPath(import.meta.url));
const folder = process.env.AWF_CASES ?? join(here, "../../../tests/contracts/tool_gateway");
const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
const tools = [
  { name: "echo", description: "Say it again", inputSchema: text },
  { name: "slow", description: "Never answer", inputSchema: { type: "object" } },
];
const config = {
  serverId: "kb",
  transport: "stdio",
  command: process.env.AWF_CASES_PYTHON ?? "python3",
  args: [join(folder, "tool_server.py")],
  manifest: { serverId: "kb", name: "KB", version: "1", tools },
};

async function using(gateway, work) {
  try {
    await work(gateway);
  } finally {
    await gateway.close();
  }
}

test("it refuses to be made where it is switched off", () => {
  assert.throws(() => new ToolGateway({ env: { AWF_GATEWAY_DISABLE: "1" } }), { code: "CLIENT.DISABLED" });
});

test("a command that cannot be started is told by the first call", async () => {
  await using(new ToolGateway({ command: ["/no/such/awf"] }), async (gateway) => {
    await assert.rejects(gateway.listTools(), { name: "GatewayError", code: "CLIENT.LOST" });
  });
});

test("a command that is something else is told, too", async () => {
  const command = [process.execPath, "-e", "console.log('hello')"];
  await using(new ToolGateway({ command }), async (gateway) => {
    await assert.rejects(gateway.getSnapshot(), { code: "CLIENT.LOST" });
  });
});

test("wrong options are told by the first call, with all that is wrong", async () => {
  await using(new ToolGateway({ config: { policy: { rulez: [] }, listen: {} } }), async (gateway) => {
    await assert.rejects(gateway.listTools(), (error) => {
      assert.ok(error instanceof GatewayError);
      assert.equal(error.code, "USER.GATEWAY.INVALID_FILE");
      assert.ok(error.problems.length >= 1);
      assert.ok(error.hint);
      return true;
    });
  });
});

test("a user that is empty, or no name, is told by the first call", async () => {
  for (const user of ["", "a\nb", "\ud800", "x".repeat(257)]) {
    await using(new ToolGateway({ user }), async (gateway) => {
      await assert.rejects(gateway.listTools(), { name: "GatewayError", code: "USER.GATEWAY.INVALID_CALL" });
    });
  }
});

test("after close nothing can be called, and closing again does no harm", async () => {
  const gateway = new ToolGateway();
  await gateway.listTools();
  await gateway.close();
  await gateway.close();
  await assert.rejects(gateway.listTools(), { code: "USER.GATEWAY.CLOSED" });
});

test("many calls at once each get their own answer", async () => {
  await using(new ToolGateway(), async (gateway) => {
    await gateway.registerServer(config);
    const said = Array.from({ length: 300 }, (_, at) => `${at} ${"ä€😀".repeat(at)}`);
    const results = await Promise.all(
      said.map((one) => gateway.callTool({ toolId: "kb:echo", arguments: { text: one } })),
    );
    assert.deepEqual(results.map((one) => one.content[0].text), said);
  });
});

test("listeners hear of servers and calls until they have enough", async () => {
  await using(new ToolGateway(), async (gateway) => {
    const heard = [];
    const stop = gateway.subscribe((event) => heard.push(event.type));
    await gateway.registerServer(config);
    await gateway.callTool({ toolId: "kb:echo", arguments: { text: "a" } });
    await gateway.callTool({ toolId: "kb:none", arguments: {} });
    assert.deepEqual(heard, ["server_registered", "tool_called", "tool_completed", "tool_error"]);
    stop();
    await gateway.reset();
    assert.equal(heard.length, 4);
  });
});

test("a call that is given up ends", async () => {
  await using(new ToolGateway(), async (gateway) => {
    await gateway.registerServer(config);
    const giving = new AbortController();
    gateway.subscribe((event) => event.type === "tool_called" && giving.abort(new Error("enough")));
    const call = gateway.callTool({ toolId: "kb:slow", arguments: {} }, { signal: giving.signal });
    await assert.rejects(call, { message: "enough" });
    assert.equal((await gateway.callTool({ toolId: "kb:echo", arguments: { text: "on" } })).success, true);
  });
});

test("hundreds of calls under way keep nothing else waiting", async () => {
  await using(new ToolGateway(), async (gateway) => {
    await gateway.registerServer(config);
    const giving = new AbortController();
    const calls = Array.from({ length: 300 }, () =>
      gateway.callTool({ toolId: "kb:slow", arguments: {} }, { signal: giving.signal }),
    );
    assert.equal((await gateway.listTools()).length, tools.length);
    giving.abort(new Error("enough"));
    const ended = await Promise.allSettled(calls);
    assert.ok(ended.every((one) => one.status === "rejected" && one.reason.message === "enough"));
    const said = await gateway.callTool({ toolId: "kb:echo", arguments: { text: "hi" } });
    assert.equal(said.success, true);
  });
});

test("what has no JSON form is refused before it is sent", async () => {
  await using(new ToolGateway(), async (gateway) => {
    const round = {};
    round.round = round;
    await assert.rejects(gateway.callTool({ toolId: "kb:echo", arguments: round }), {
      code: "USER.GATEWAY.INVALID_CALL",
    });
  });
});

test("no tool is called with other values than those given: what JSON cannot say is refused", async () => {
  const unsayable = [NaN, Infinity, -Infinity, () => 1, Symbol("s"), new Map([[1, 2]]), new Set([1]), /x/, new Error("e"), 1n];
  unsayable.push(new Date(NaN), new Uint8Array(2), new ArrayBuffer(2), new Number(NaN), Promise.resolve(1));
  unsayable.push({ toJSON: () => undefined }, { toJSON: () => null });
  await using(new ToolGateway(), async (gateway) => {
    await gateway.registerServer(config);
    for (const value of [...unsayable.flatMap((one) => [one, [one], { deep: one }]), [undefined], [1, , 2]]) {
      await assert.rejects(gateway.callTool({ toolId: "kb:echo", arguments: { text: "a", value } }), {
        code: "USER.GATEWAY.INVALID_CALL",
        message: /^A value has no JSON form: /,
      });
    }
    assert.deepEqual(await gateway.drainAuditEvents(), []);
  });
});

test("what has a form in JSON of its own is sent in that form, and what is undefined is left out", async () => {
  await using(new ToolGateway(), async (gateway) => {
    await gateway.registerServer(config);
    const said = async (given) => (await gateway.callTool({ toolId: "kb:echo", arguments: given })).content[0].text;
    assert.equal(await said({ text: new Date(0) }), "1970-01-01T00:00:00.000Z");
    assert.equal(await said({ text: { toJSON: () => "mine" } }), "mine");
    assert.equal(await said({ text: "a", none: null, more: undefined, deep: Object.create(null) }), "a");
    assert.match(await said({ text: undefined }), /"text" is a required property/);
  });
});

test("a grant with something undefined is refused: it could count everywhere, and for ever", async () => {
  await using(new ToolGateway(), async (gateway) => {
    for (const more of [{ scope: { user: undefined } }, { scope: undefined }, { expiresAt: undefined }]) {
      const error = { code: "USER.GATEWAY.INVALID_CALL", message: / is undefined$/ };
      await assert.rejects(gateway.grantCapability({ capability: "*", ...more }), error);
    }
    assert.deepEqual((await gateway.getSnapshot()).grants, []);
  });
});

test("options that nobody knows are refused", async () => {
  const refused = { name: "GatewayError", code: "USER.GATEWAY.INVALID_CALL" };
  for (const options of [{ sesion: "mine" }, { storag: "/tmp" }, null, "here", { command: "awf" }, { command: [] }]) {
    assert.throws(() => new ToolGateway(options), refused);
  }
  await using(new ToolGateway(), async (gateway) => {
    await gateway.registerServer(config);
    const giving = new AbortController();
    giving.abort(new Error("enough"));
    const call = { toolId: "kb:echo", arguments: { text: "a" } };
    for (const options of [giving.signal, { Signal: giving.signal }, { signal: giving }, { signal: null }, null]) {
      await assert.rejects(gateway.callTool(call, options), refused);
    }
    await assert.rejects(gateway.callTool(call, { signal: giving.signal }), { message: "enough" });
    assert.deepEqual(await gateway.drainAuditEvents(), []);
  });
});

test("what the gateway could not read is refused before it is sent", async () => {
  await using(new ToolGateway(), async (gateway) => {
    await gateway.registerServer(config);
    let deep = "x";
    for (let level = 0; level < 2000; level++) {
      deep = [deep];
    }
    for (const text of [deep, "x".repeat(11 * 1024 * 1024)]) {
      await assert.rejects(gateway.callTool({ toolId: "kb:echo", arguments: { text } }), {
        code: "USER.GATEWAY.INVALID_CALL",
      });
    }
    const brackets = "[".repeat(5000) + '\\"'.repeat(500);
    const plain = await gateway.callTool({ toolId: "kb:echo", arguments: { text: brackets } });
    assert.equal(plain.success, true);
  });
});

test("a call that is given up ends at once, whatever the gateway does", async () => {
  await using(new ToolGateway(), async (gateway) => {
    await gateway.registerServer(config);
    const giving = new AbortController();
    const calls = Array.from({ length: 300 }, () =>
      gateway.callTool({ toolId: "kb:slow", arguments: {}, timeoutMs: 10_000 }, { signal: giving.signal }),
    );
    giving.abort(new Error("enough"));
    const ends = await Promise.allSettled(calls);
    assert.ok(ends.every((end) => end.status === "rejected" && end.reason.message === "enough"));
  });
});

test("a command that is no list of words is told", () => {
  const env = { ...process.env, AWF_GATEWAY_COMMAND: "[broken" };
  assert.throws(() => new ToolGateway({ env }), { code: "USER.GATEWAY.INVALID_CALL" });
});

test("what is switched off for this process stays so whatever environment is given", () => {
  process.env.AWF_GATEWAY_DISABLE = "1";
  try {
    assert.throws(() => new ToolGateway({ env: {} }), { code: "CLIENT.DISABLED" });
  } finally {
    delete process.env.AWF_GATEWAY_DISABLE;
  }
});

test("a program that forgets to close it ends all the same", async () => {
  const script = `
    import { ToolGateway } from ${JSON.stringify(new URL("../lib/index.js", import.meta.url).href)};
    const gateway = new ToolGateway();
    console.log((await gateway.listTools()).length);
  `;
  const run = promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
  assert.equal((await run).stdout, "0\n");
});
