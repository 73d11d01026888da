/** Each adapter in a real loop of its SDK, against a scripted model. */

import { fileURLToPath } from "node:url";
import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";

import { createSandboxTools } from "../../../lib/adapters/mcp.js";
import { whyNoCli } from "../support/built-cli.js";
import { jsonOfHost } from "../support/host-program.js";
import { kNodeInside } from "../support/node-arguments.js";
import { BubblewrapNativeRunner } from "../support/package.js";
import { describeUnless, whyNoBubblewrap } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";

const host = <Said>(name: string) =>
  jsonOfHost<Said>([
    ...kNodeInside,
    fileURLToPath(new URL(`../hosts/adapters/${name}.mjs`, import.meta.url)),
  ]);

describeUnless(whyNoBubblewrap ?? whyNoCli, "adapters", () => {
  test("ai-sdk: commands wait in a transaction, and a commit waits for an approval", async () => {
    const said = await host<{ answers: string[] } & Record<string, unknown>>("ai-sdk");
    expect(said).toMatchObject({
      ...{ first: "committed", second: "refused" },
      before: [null, "new\n"], // when the person was asked
      committed: "new\n",
      after: "new\n",
      kept: true,
    });
    const [run = "", wrong, cat = "", commit = "", , refused] = said.answers;
    expect(JSON.parse(run)).toMatchObject({ exitCode: 3, stdout: "said\n", outcome: "exited" });
    expect(wrong).toContain("comand");
    expect(JSON.parse(cat)).toMatchObject({ exitCode: 0, stdout: "new\n" });
    expect(JSON.parse(commit)).toMatchObject({ total: 1, left: 0 });
    expect(refused).toMatch(/denied|not approved|declined/i);
  });

  test("openai-agents: each command has its outcome, within the limits that were asked for", async () => {
    const said = await host<{ outputs: { stdout: string }[][] }>("openai-agents");
    expect(said).toMatchObject({ finalOutput: "done", before: null, changes: ["file"] });
    const [first, second, third] = said.outputs;
    expect(first).toMatchObject([
      { stdout: "said\n", stderr: "", outcome: { type: "exit", exit_code: 0 } },
      { stdout: "new\n", stderr: "err\n", outcome: { type: "exit", exit_code: 3 } },
    ]);
    expect(second).toMatchObject([{ outcome: { type: "timeout" } }]);
    expect(third?.[0]?.stdout).toHaveLength(20);
    expect(third?.[0]?.stdout).toMatch(/^1\n2\n.*100000\n$/s);
  });

  test("mcp: the tools in a server of one's own, with signs of life", async () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), prewarm: 0 });
    const directory = tempDirectory("state");
    const sandbox = await createSandboxTools({
      runner,
      transaction: { directory },
      heartbeatMs: 20,
    });
    const server = new McpServer({ name: "own", version: "1.0.0" });
    server.registerTool("own", { description: "mine" }, () => ({ content: [] }));
    sandbox.addTo(server);
    const [here, there] = InMemoryTransport.createLinkedPair();
    const client = new Client({ name: "test", version: "1" });
    await Promise.all([server.connect(there), client.connect(here)]);
    const { tools } = await client.listTools();
    expect(tools).toHaveLength(17);
    const progress: string[] = [];
    const onprogress = ({ message = "" }) => progress.push(message);
    await client.callTool(
      { name: "run", arguments: { command: "echo x > file; sleep 0.5" } },
      { onprogress },
    );
    expect(progress.filter((message) => message.startsWith("goes on for")).length).toBeGreaterThan(
      1,
    );
    await client.close();
    const id = await sandbox.close();
    expect(await runner.transactions({ directory })).toMatchObject([{ id, state: "closed" }]);
    await runner.close();
  });

  test("refuse options that they do not know", async () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), prewarm: 0 });
    const wrong = { runner, limit: {} } as unknown as { runner: BubblewrapNativeRunner };
    await expect(createSandboxTools(wrong)).rejects.toThrow(/"limit" in `options`.*`limits`/);
    await runner.close();
  });
});
