// The same as client_v1.mjs, with @modelcontextprotocol/client 2.x, which speaks the modern protocol era.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [target, callsText] = process.argv.slice(2);
const transport = target.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: JSON.parse(target)[0], args: JSON.parse(target).slice(1), env: process.env });
const client = new Client({ name: "strict-client", version: "2.0.0" }, { versionNegotiation: { mode: "auto" } });
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
const era = client.getNegotiatedProtocolVersion?.() ?? null;
console.log(JSON.stringify({ tools: listed.tools.map((tool) => tool.name), era, results }));
await client.close();
