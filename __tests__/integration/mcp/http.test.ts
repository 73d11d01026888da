/** Streamable HTTP: both protocol generations, and who is refused. */

import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterEach, expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import { command, whyNoCli } from "../support/built-cli.js";
import { kMarker, marked, newMark } from "../support/processes.js";
import { describeUnless, whyNoBubblewrap } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { callTool, kGenerations, makeClient, serverWords } from "./support/client.js";

const kToken = "a-token-of-the-tests-own";
const servers: ChildProcess[] = [];

afterEach(async () => {
  const ended = servers.splice(0).map((server) => {
    const end = new Promise((resolve) => server.once("close", resolve));
    server.kill("SIGTERM");
    return end;
  });
  await Promise.all(ended);
});

function tokenFile(text = kToken, mode = 0o600): string {
  const file = join(tempDirectory("token"), "token");
  writeFileSync(file, `${text}\n`);
  chmodSync(file, mode);
  return file;
}

/** Where it serves, and what it has said. */
async function serve(words: readonly string[] = ["--token-file", tokenFile()]) {
  const all = serverWords(tempDirectory(), tempDirectory("state"), ["--http", ...words]);
  const [program = "", ...args] = all;
  const server = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  servers.push(server);
  let said = "";
  server.stderr.on("data", (chunk) => {
    said += String(chunk);
  });
  await eventually("it serves", () => said.includes("/mcp"));
  const url = new URL(/http:\S+\/mcp/.exec(said)?.[0] ?? "");
  return { url, said: () => said };
}

const kInitialize = JSON.stringify({
  ...{ jsonrpc: "2.0", id: 1, method: "initialize" },
  params: {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "raw", version: "1" },
  },
});

/** The status that a plain request gets; `fetch` would not send another Host. */
function statusOf(url: URL, headers: Record<string, string>, path = url.pathname): Promise<number> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = url;
    const sent = request({ hostname, port, path, method: "POST", headers }, (response) => {
      response.destroy();
      resolve(response.statusCode ?? 0);
    });
    sent.on("error", reject);
    sent.end(kInitialize);
  });
}

describeUnless(whyNoBubblewrap ?? whyNoCli, "native-runner mcp --http", () => {
  for (const generation of kGenerations) {
    test(`${generation}: run, progress, cancel, and a commit that a person is asked about`, async () => {
      const { url } = await serve();
      const client = makeClient(generation, { person: () => "yes" });
      const options = { requestInit: { headers: { authorization: `Bearer ${kToken}` } } };
      const transport =
        generation === "first"
          ? new FirstTransport(url, options)
          : new StreamableHTTPClientTransport(url, options);
      await client.connect(transport as never);
      const call = (name: string, input: Record<string, unknown> = {}, more = {}) =>
        callTool(client, name, input, more);
      let going: Promise<unknown> | undefined;
      const onProgress = (message: string) => {
        if (message.includes("up")) going ??= call("run", { command: "echo new > file" });
      };
      const command = "echo up; until [ -e file ]; do sleep 0.05; done";
      const result = await call("run", { command, timeoutMs: 20_000 }, { onProgress });
      expect(result.structuredContent).toMatchObject({ stdout: "up\n", exitCode: 0 });
      await going;
      expect((await call("commit")).structuredContent).toMatchObject({ total: 1 });

      const mark = newMark();
      const cancel = new AbortController();
      const running = call(
        "run",
        { command: "echo up; sleep 1000", env: { [kMarker]: mark } },
        { signal: cancel.signal, onProgress: () => cancel.abort() },
      );
      await expect(running).rejects.toThrow();
      await eventually("nothing of it is left", () => marked(mark).length === 0);
      await client.close();
    });
  }

  test("modern: a client that goes in the middle of a call leaves no process", async () => {
    const { url } = await serve();
    const client = makeClient("modern", {});
    const requestInit = { headers: { authorization: `Bearer ${kToken}` } };
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit }) as never);
    const mark = newMark();
    const input = { command: "sleep 1000", env: { [kMarker]: mark } };
    const running = callTool(client, "run", input, {});
    running.catch(() => {});
    await eventually("it is up", () => marked(mark).length > 0);
    await client.close();
    await eventually("nothing of it is left", () => marked(mark).length === 0);
  });

  test("refuses another Host or Origin, and who has not the token", async () => {
    const { url, said } = await serve();
    const fine = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${kToken}`,
    };
    expect(await statusOf(url, fine)).toBe(200);
    expect(await statusOf(url, { ...fine, origin: `http://localhost:${url.port}` })).toBe(200);
    const { authorization: _, ...without } = fine;
    expect(await statusOf(url, without)).toBe(401);
    for (const wrong of [
      "Bearer wrong",
      "Bearer ",
      kToken,
      `Basic ${kToken}`,
      "Bearer x".repeat(999),
    ]) {
      expect(await statusOf(url, { ...fine, authorization: wrong })).toBe(401);
    }
    for (const host of [
      "evil.test",
      `evil.test:${url.port}`,
      "127.0.0.1.evil.test",
      "127.0.0.1@evil.test",
    ]) {
      expect(await statusOf(url, { ...fine, host }), host).not.toBe(200);
    }
    for (const origin of ["https://evil.test", "null", "http://localhost.evil.test", "file://"]) {
      expect(await statusOf(url, { ...fine, origin }), origin).toBe(403);
    }
    expect(await statusOf(url, fine, "/elsewhere")).toBe(404);
    expect(await statusOf(url, { ...fine, "mcp-session-id": "guessed" })).toBe(404);
    expect(said()).not.toContain(kToken);
  });

  test("refuses a body that is too long, and serves the next", async () => {
    const { url } = await serve();
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${kToken}`,
    };
    for (const length of [5_000_000, 20_000_000]) {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "x".repeat(length) });
      expect((await fetch(url, { method: "POST", headers, body })).status).toBe(413);
    }
    expect(await statusOf(url, headers)).toBe(200);
  });

  test("makes a token of its own, and tells it", async () => {
    const { url, said } = await serve([]);
    const [, token = ""] = /with the token (\S+)/.exec(said()) ?? [];
    expect(token).toHaveLength(43);
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    };
    expect(await statusOf(url, { ...headers, authorization: `Bearer ${token}` })).toBe(200);
    expect(await statusOf(url, { ...headers, authorization: `Bearer ${kToken}` })).toBe(401);
  });

  test.each([
    ["that others can read", () => tokenFile(kToken, 0o644), /can be read by others/],
    ["that is too short", () => tokenFile("short"), /has no token/],
    ["that is missing", () => "/nonexistent/token", /can't be read/],
  ])("refuses a token file %s", (_, file, why) => {
    const words = serverWords(tempDirectory(), tempDirectory("state"), [
      ...["--http", "--token-file", file()],
    ]);
    const { status, stderr } = command(words);
    expect(stderr).toMatch(why);
    expect(status).toBe(2);
  });
});
