// The official TypeScript SDK, 1.x line: list, call, and print what was seen.
import { createRequire } from "node:module";

const task = JSON.parse(process.argv[2]);
const require = createRequire(`${task.packages}/`);
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");

const [command, ...args] = task.command;
const transport = new StdioClientTransport({ command, args, env: task.env, cwd: task.cwd });
const client = new Client({ name: "driver", version: "1" });

let protocol;
transport.setProtocolVersion = (version) => { protocol = version; };
await client.connect(transport);
const { tools } = await client.listTools();
const results = [];
for (const { name, arguments: given } of task.calls) {
  try {
    results.push(await client.callTool({ name, arguments: given }));
  } catch (error) {
    results.push({ error: { code: error.code, message: error.message } });
  }
}
await client.close();
console.log(JSON.stringify({ protocol, tools, results }));
