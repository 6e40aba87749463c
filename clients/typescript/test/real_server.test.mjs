// Against a real server: FAILSOFT_SERVER is its command as JSON, SDK_FOLDER holds the packages of the SDK.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import test from "node:test";
import { FailsoftError, parseFailure, withRecovery } from "../src/index.ts";

const server = JSON.parse(process.env.FAILSOFT_SERVER);
const require = createRequire(pathToFileURL(`${process.env.SDK_FOLDER}/package.json`));
const load = (name) => import(pathToFileURL(require.resolve(name)));

async function connected(version) {
  const one = version === 1;
  const { Client } = await load(one ? "@modelcontextprotocol/sdk/client/index.js" : "@modelcontextprotocol/client");
  const { StdioClientTransport } = await load(
    one ? "@modelcontextprotocol/sdk/client/stdio.js" : "@modelcontextprotocol/client/stdio",
  );
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(new StdioClientTransport({ command: server[0], args: server.slice(1), env: process.env }));
  await client.listTools();
  return client;
}

for (const version of [1, 2]) {
  test(`version ${version} of the SDK: a failure is read, a success is none`, async () => {
    const client = await connected(version);
    try {
      const failure = parseFailure(await client.callTool({ name: "price", arguments: { itm: "tea" } }));
      assert.equal(failure.code, "INVALID_PARAM");
      assert.equal(failure.category, "invalid_argument");
      assert.deepEqual(failure.retry, { when: "after_fix" });
      assert.equal(failure.effect, "none");
      assert.deepEqual(new Set(failure.violations.map((item) => item.path)), new Set(["item", "itm"]));
      assert.ok(failure.errorId);
      const misspelt = parseFailure(await client.callTool({ name: "price", arguments: { Item: "tea" } }));
      assert.deepEqual(misspelt.nextStep, { tool: "price", arguments: { item: "tea" } });
      assert.equal(parseFailure(await client.callTool({ name: "price", arguments: { item: "tea" } })), undefined);
    } finally {
      await client.close();
    }
  });

  test(`version ${version} of the SDK: a call is repeated by the server's advice, and no other`, async () => {
    const client = await connected(version);
    try {
      const shop = withRecovery(client, { attempts: 4, key: () => "0f3c5a9e-3f0c-4a53-9d5c-2d8f6f6f9a11" });
      const result = await shop.callTool({ name: "busy", arguments: {} });
      assert.equal(result.structuredContent.data, "done");
      await assert.rejects(shop.callTool({ name: "gone", arguments: {} }), (error) => {
        assert.ok(error instanceof FailsoftError);
        assert.equal(error.failure.code, "NOT_FOUND");
        assert.deepEqual(error.failure.suggestions, ["shelf-2"]);
        return true;
      });
    } finally {
      await client.close();
    }
  });
}

test("a failure of another server has its text and no advice that it did not give", () => {
  const failure = parseFailure({ isError: true, content: [{ type: "text", text: "no such colour" }] });
  assert.deepEqual(failure, {
    code: "REPORTED_FAILURE",
    message: "no such colour",
    retry: { when: "after_fix" },
    effect: "unknown",
    suggestions: [],
    violations: [],
  });
});
