// The official TypeScript client, 2.x line: list, call, and print what was seen.
import { createRequire } from "node:module";

const task = JSON.parse(process.argv[2]);
const require = createRequire(`${task.packages}/`);
const { Client } = require("@modelcontextprotocol/client");
const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");

const [command, ...args] = task.command;
const transport = new StdioClientTransport({ command, args, env: task.env, cwd: task.cwd });
const client = new Client({ name: "driver", version: "1" }, { versionNegotiation: { mode: task.mode } });

await client.connect(transport);
const protocol = client.getNegotiatedProtocolVersion();
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
