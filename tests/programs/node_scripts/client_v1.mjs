// Drives a server with @modelcontextprotocol/sdk 1.x and prints what a strict client sees, as one JSON object.
// It rejects a result whose structured content does not fit the tool's output schema.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [target, callsText] = process.argv.slice(2);
const transport = target.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: JSON.parse(target)[0], args: JSON.parse(target).slice(1), env: process.env });
const client = new Client({ name: "strict-client", version: "1.0.0" });
await client.connect(transport);
const listed = await client.listTools();
const results = [];
for (const { name, arguments: args } of JSON.parse(callsText)) {
  try {
    results.push({ result: await client.callTool({ name, arguments: args }) });
  } catch (error) {
    results.push({ thrown: { code: error.code ?? null, message: error.message } });
  }
}
console.log(JSON.stringify({ tools: listed.tools.map((tool) => tool.name), results }));
await client.close();
