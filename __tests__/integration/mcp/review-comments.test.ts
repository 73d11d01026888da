/** Comments that a person writes on the review page, as an agent gets them by MCP. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  Client,
  InMemoryTransport,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import type { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { McpServer } from "@modelcontextprotocol/server";
import { expect, onTestFinished, test } from "vitest";

import { createSandboxTools } from "../../../lib/adapters/mcp.js";
import { eventually } from "../../support/waits.js";
import { ask } from "../review/review-server.js";
import { kCli, whyNoCli } from "../support/built-cli.js";
import { BubblewrapNativeRunner } from "../support/package.js";
import { describeUnless, whyNoBubblewrap } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import {
  type Connected,
  connect,
  kGenerations,
  makeClient,
  serverWords,
  textOf,
} from "./support/client.js";

const kUri = "native-runner://review/comments";
const kComment = {
  path: "a.txt",
  side: "after",
  line: 1,
  lineText: "mine",
  text: "why \u001b[31m?",
};

const pageOf = (said: string) => new URL(/review the changes at (\S+)/.exec(said)?.[1] ?? "");

const send = (base: URL, method: string, body: object, path = "comments") =>
  ask(base, `${base.pathname}api/${path}`, {
    method,
    body: JSON.stringify(body),
    headers: { origin: base.origin, "content-type": "application/json" },
  });

async function reviewed(generation: (typeof kGenerations)[number]) {
  const connected = await connect(generation, { words: ["--review"] });
  await eventually("it says the address", () => connected.said().includes("review the changes at"));
  return { ...connected, base: pageOf(connected.said()) };
}

/** Subscribes to the comments; the list grows with each notification. */
async function subscribed(client: Client | FirstClient, isModern: boolean): Promise<string[]> {
  const updated: string[] = [];
  if (!(client instanceof Client)) {
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
      updated.push(params.uri);
    });
    await client.subscribeResource({ uri: kUri });
    return updated;
  }
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => {
    updated.push(params.uri);
  });
  if (isModern) await client.listen({ resourceSubscriptions: [kUri] });
  else await client.subscribeResource({ uri: kUri });
  return updated;
}

const structured = ({ structuredContent }: Awaited<ReturnType<Connected["call"]>>) =>
  structuredContent as Record<string, unknown>;

describeUnless(whyNoBubblewrap ?? whyNoCli, "native-runner mcp --review", () => {
  test.each(kGenerations)(
    "%s: comments are a resource, its changes are told",
    async (generation) => {
      const { client, call, base } = await reviewed(generation);
      await call("run", { command: "echo mine > a.txt" });
      const { resources } = await client.listResources();
      expect(resources.map(({ uri }) => uri)).toContain(kUri);
      const read = async () => {
        const { contents } = await client.readResource({ uri: kUri });
        return contents.map((each) => ("text" in each ? each.text : ""));
      };
      expect(await read()).toEqual(['{"comments":[]}', "there are no comments"]);
      const updated = await subscribed(client, generation === "modern");
      const reply = await send(base, "POST", kComment);
      expect(reply.status).toBe(200);
      const { id } = reply.json<{ id: string }>();
      await expect.poll(() => updated).toEqual([kUri]);
      const [json = "", text] = await read();
      expect(JSON.parse(json)).toMatchObject({ comments: [{ ...kComment, isOutdated: false }] });
      expect(text).toBe("a.txt:1\n> mine\nwhy ^[[31m?");
      await call("run", { command: "echo other > a.txt" });
      await expect.poll(() => updated.length).toBe(2); // it is outdated now
      expect((await read())[1]).toContain("a.txt:1 [outdated]\n> mine\n");
      await send(base, "DELETE", { id });
      await expect.poll(() => updated.length).toBe(3);
      expect(await read()).toEqual(['{"comments":[]}', "there are no comments"]);
    },
  );

  test("without a subscription nothing is sent, and another resource has none", async () => {
    const { client, call, base } = await reviewed("legacy");
    await call("run", { command: "echo mine > a.txt" });
    const updated: string[] = [];
    (client as Client).setNotificationHandler("notifications/resources/updated", ({ params }) => {
      updated.push(params.uri);
    });
    await client.subscribeResource({ uri: "native-runner://output/1/stdout/0" });
    await send(base, "POST", kComment);
    await client.subscribeResource({ uri: kUri });
    await send(base, "POST", { ...kComment, text: "second" });
    await expect.poll(() => updated).toEqual([kUri]);
    await client.unsubscribeResource({ uri: kUri });
    await send(base, "POST", { ...kComment, text: "third" });
    expect(textOf(await call("comments"))).toContain("third"); // sent after it would have been
    expect(updated).toEqual([kUri]);
  });

  test("tools tell of open comments in a line, and one tool reads them, in 16 KB", async () => {
    const { client, call, base } = await reviewed("modern");
    const { tools } = await client.listTools();
    expect(tools.at(-1)?.name).toBe("comments");
    expect(Buffer.byteLength(JSON.stringify({ tools }))).toBeLessThanOrEqual(16 * 1024);
    expect(textOf(await call("run", { command: "echo mine > a.txt; echo said" }))).toBe("said\n");
    expect(textOf(await call("comments"))).toBe("there are no open comments");
    const { id } = (await send(base, "POST", kComment)).json<{ id: string }>();
    await send(base, "POST", { path: "a.txt", side: "after", text: "split it" });
    const hint = "[2 open review comments: read with `comments`]";
    expect(textOf(await call("run", { command: "echo said" }))).toBe(`said\n\n${hint}`);
    expect(textOf(await call("changes"))).toMatch(/a\.txt.*\n\[2 open review comments/s);
    expect(textOf(await call("diff"))).toMatch(/\+mine\n\[2 open review comments/);
    const read = await call("comments");
    expect(textOf(read)).toBe("a.txt:1\n> mine\nwhy ^[[31m?\n\na.txt\nsplit it");
    const { comments } = structured(read) as { comments: object[] };
    expect(comments[0]).toEqual({ ...kComment, id, isOutdated: false });
    await send(base, "PATCH", { id, isResolved: true });
    expect(textOf(await call("changes"))).toContain("[1 open review comment: ");
    expect(textOf(await call("comments"))).toBe("a.txt\nsplit it");
  });

  test("a commit, and a discard, on the page are the agent's too; comments stay", async () => {
    const { call, base, workspace } = await reviewed("modern");
    await call("run", { command: "echo mine > a.txt; echo mine > b.txt" });
    await send(base, "POST", kComment);
    const { changes } = (await ask(base, `${base.pathname}api/changes`)).json<{
      changes: { path: string; version: string }[];
    }>();
    const files = changes
      .filter(({ path }) => path === "a.txt")
      .map(({ path, version }) => ({ path, version }));
    expect((await send(base, "POST", { files }, "commit")).status).toBe(200);
    expect(existsSync(join(workspace, "a.txt"))).toBe(true);
    expect(structured(await call("changes"))).toMatchObject({ total: 1 });
    expect((await send(base, "POST", {}, "discard")).status).toBe(200);
    expect(textOf(await call("run", { command: "ls; echo new > c.txt" }))).toMatch(/^a\.txt\n/);
    // The same address shows the next transaction.
    const next = await ask(base, `${base.pathname}api/changes`);
    expect(next.json<{ changes: { path: string }[] }>().changes.map(({ path }) => path)).toEqual([
      "c.txt",
    ]);
    expect(textOf(await call("comments"))).toContain("a.txt:1 [outdated]");
    await call("discard");
    expect(structured(await call("changes"))).toMatchObject({ total: 0 });
    expect((await ask(base, `${base.pathname}api/transaction`)).json()).toMatchObject({
      state: "open",
    });
  });

  test("no client learns the address, and without --review there is nothing of it", async () => {
    const { client, call, base } = await reviewed("modern");
    await call("run", { command: "echo mine > a.txt" });
    await send(base, "POST", kComment);
    const said = JSON.stringify([
      client.getInstructions(),
      await client.listTools(),
      await client.listResources(),
      await client.readResource({ uri: kUri }),
      await call("comments"),
      await call("changes"),
    ]);
    expect(said).toContain(kUri);
    expect(said).not.toContain(base.pathname);
    const without = await connect("modern");
    const { tools } = await without.client.listTools();
    expect(tools.map(({ name }) => name)).not.toContain("comments");
    const { resources } = await without.client.listResources();
    expect(resources.map(({ uri }) => uri)).not.toContain(kUri);
    expect(without.said()).not.toContain("review");
  });

  test.each(["first", "modern"] as const)(
    "by HTTP, %s: its changes are told",
    async (generation) => {
      const token = join(tempDirectory("token"), "token");
      writeFileSync(token, "a-token-of-the-tests-own\n", { mode: 0o600 });
      const words = ["--http", "--token-file", token, "--review", "0"];
      const [program = "", ...args] = serverWords(tempDirectory(), tempDirectory("state"), words);
      const server = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
      onTestFinished(async () => {
        const ended = once(server, "close");
        server.kill("SIGTERM");
        await ended;
      });
      let said = "";
      server.stderr.on("data", (chunk) => {
        said += String(chunk);
      });
      await eventually("it serves", () => said.includes("/mcp") && said.includes("review the"));
      const url = new URL(/http:\S+\/mcp/.exec(said)?.[0] ?? "");
      const client = makeClient(generation, {});
      const options = {
        requestInit: { headers: { authorization: "Bearer a-token-of-the-tests-own" } },
      };
      const transport =
        generation === "first"
          ? new FirstTransport(url, options)
          : new StreamableHTTPClientTransport(url, options);
      await client.connect(transport as never);
      onTestFinished(() => client.close());
      const updated = await subscribed(client, generation === "modern");
      const base = pageOf(said);
      const run = { name: "run", arguments: { command: "echo mine > a.txt" } };
      await (client as Client).callTool(run);
      await send(base, "POST", kComment);
      await expect.poll(() => updated).toEqual([kUri]);
    },
  );

  test("a wrong port is told by name, and one that is taken ends the server", async () => {
    const [program = "", ...args] = kCli;
    const wrong = spawn(program, [...args, "mcp", "--review", "70000"]);
    let said = "";
    wrong.stderr.on("data", (chunk) => {
      said += String(chunk);
    });
    const [status] = await once(wrong, "close");
    expect(status).toBe(2);
    expect(said).toContain("--review");
    const { base } = await reviewed("modern");
    const state = tempDirectory("state");
    const words = serverWords(tempDirectory(), state, ["--review", base.port]).slice(1);
    const taken = spawn(program, words);
    taken.stderr.on("data", (chunk) => {
      said += String(chunk);
    });
    const [failed] = await once(taken, "close");
    expect(failed).not.toBe(0);
    expect(said).toContain("EADDRINUSE");
  });

  test("the same for an application's own server", async () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), prewarm: 0 });
    let url = "";
    const sandbox = await createSandboxTools({
      runner,
      transaction: { directory: tempDirectory("state") },
      review: {
        onServed: (address) => {
          url = address;
        },
      },
    });
    const server = new McpServer({ name: "own", version: "1.0.0" });
    sandbox.addTo(server);
    const [here, there] = InMemoryTransport.createLinkedPair();
    const client = new Client({ name: "test", version: "1" });
    await Promise.all([server.connect(there), client.connect(here)]);
    const run = { name: "run", arguments: { command: "echo mine > a.txt" } };
    await client.callTool(run);
    const updated = await subscribed(client, false);
    expect((await send(new URL(url), "POST", kComment)).status).toBe(200);
    await expect.poll(() => updated).toEqual([kUri]);
    expect(textOf((await client.callTool({ name: "comments" })) as never)).toContain("a.txt:1");
    await client.close();
    await sandbox.close();
    await expect(ask(new URL(url), "/")).rejects.toThrow(/ECONNREFUSED/);
    const options = (review: object) => createSandboxTools({ runner, review } as never);
    await expect(options({ port: -1, onServed: () => {} })).rejects.toThrow(/review\.port/);
    await expect(options({ port: 0 })).rejects.toThrow(/onServed/);
    await expect(options({ onServed: () => {}, prot: 1 })).rejects.toThrow(/"prot".*`port`/s);
    await runner.close();
  });
});
