/** How calls, clients and servers end: nothing is left running, and what was changed is kept. */

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { eventually } from "../../support/waits.js";
import { command, kCli, whyNoCli } from "../support/built-cli.js";
import { kNodeProgram } from "../support/node-arguments.js";
import { isAlive, kMarker, marked, newMark } from "../support/processes.js";
import { describeUnless, whyNoBubblewrap } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { connect, kGenerations, serverWords, textOf } from "./support/client.js";

type Listed = { id: string; state: string };

const listed = (state: string): Listed[] =>
  JSON.parse(command([...kCli, "tx", "list", "--json", "--state-directory", state]).stdout);

describeUnless(whyNoBubblewrap ?? whyNoCli, "the end of", () => {
  const kForks = "(setsid sleep 1000 & sleep 1000 & trap '' TERM; echo up; sleep 1000)";

  for (const generation of kGenerations) {
    test(`${generation}: a call that is cancelled leaves no process`, async () => {
      const { call } = await connect(generation);
      const mark = newMark();
      const cancel = new AbortController();
      const running = call(
        "run",
        { command: kForks, env: { [kMarker]: mark } },
        {
          signal: cancel.signal,
          onProgress: (message) => {
            if (!message.includes("up")) return;
            expect(marked(mark).length).toBeGreaterThan(0);
            cancel.abort();
          },
        },
      );
      await expect(running).rejects.toThrow();
      await eventually("nothing of it is left", () => marked(mark).length === 0);
      expect((await call("run", { command: "echo on" })).structuredContent).toMatchObject({
        stdout: "on\n",
      });
    });

    test(`${generation}: a client that closes leaves its changes in a transaction`, async () => {
      const { call, close, pid, state } = await connect(generation);
      const mark = newMark();
      const env = { [kMarker]: mark };
      await call("run", { command: "echo new > file" });
      await call("start", { command: "exec sleep 1000", env });
      await eventually("it is up", () => marked(mark).length > 0);
      await close();
      await eventually("the server is gone", () => !isAlive(pid));
      expect(marked(mark)).toEqual([]);
      expect(listed(state)).toMatchObject([{ state: "closed" }]);
    });
  }

  test("a client that changed nothing leaves no transaction", async () => {
    const { call, close, pid, state } = await connect("legacy");
    await call("run", { command: "true" });
    await close();
    await eventually("the server is gone", () => !isAlive(pid));
    expect(listed(state)).toEqual([]);
  });

  for (const victim of ["client", "server"] as const) {
    test(`a ${victim} that is killed leaves nothing running, and a transaction to go on in`, async () => {
      const workspace = tempDirectory();
      const state = tempDirectory("state");
      const mark = newMark();
      const host = new URL("../hosts/mcp/client.mjs", import.meta.url).pathname;
      const words = serverWords(workspace, state);
      const client = spawn(kNodeProgram, [host, JSON.stringify(words)], {
        env: { ...process.env, [kMarker]: mark },
        stdio: ["ignore", "pipe", "ignore"],
      });
      let said = "";
      client.stdout.on("data", (chunk) => {
        said += String(chunk);
      });
      await eventually("the command is up", () => said.includes("up"));
      const pids = { client: client.pid ?? 0, server: Number(/server (\d+)/.exec(said)?.[1]) };
      expect(marked(mark).length).toBeGreaterThan(2);
      process.kill(pids[victim], "SIGKILL");
      if (victim === "server") client.kill("SIGKILL");
      await eventually("nothing is left", () => marked(mark).length === 0);
      expect(existsSync(join(workspace, "kept"))).toBe(false);
      const [{ id } = { id: "" }] = listed(state);
      expect(listed(state)).toMatchObject([{ id, state: "closed" }]);

      for (const resume of [id, "latest"]) {
        const again = await connect("legacy", { workspace, state, words: ["--resume", resume] });
        const { structuredContent } = await again.call("run", { command: "cat kept" });
        expect(structuredContent).toMatchObject({ stdout: "kept\n" });
        await again.close();
        await eventually("the server is gone", () => !isAlive(again.pid));
      }
    });
  }

  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    test(`a server that is ended by ${signal} leaves nothing running, and says where the changes wait`, async () => {
      const { call, pid, said, state } = await connect("modern");
      const mark = newMark();
      await call("run", { command: "echo new > file" });
      await call("start", { command: kForks, env: { [kMarker]: mark } });
      await eventually("it is up", () => marked(mark).length > 2);
      process.kill(pid, signal);
      await eventually("the server is gone", () => !isAlive(pid));
      expect(marked(mark)).toEqual([]);
      const [{ id } = { id: "" }] = listed(state);
      expect(listed(state)).toMatchObject([{ state: "closed" }]);
      await eventually("it has said so", () => said().includes(`transaction ${id}`));
    });
  }

  test("a client that reads no more ends the server with the next answer", async () => {
    const state = tempDirectory("state");
    const [program = "", ...args] = serverWords(tempDirectory(), state);
    const server = spawn(program, args, { stdio: ["pipe", "pipe", "ignore"] });
    const ended = new Promise((resolve) => server.once("exit", resolve));
    const mark = newMark();
    const send = (id: number, method: string, params: object) =>
      server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    send(1, "initialize", {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "raw", version: "1" },
    });
    await new Promise((resolve) => server.stdout.once("data", resolve));
    const run = (id: number, input: object) =>
      send(id, "tools/call", { name: "run", arguments: input });
    run(2, { command: "echo kept > file; exec sleep 1000", env: { [kMarker]: mark } });
    await eventually("it is up", () => marked(mark).length > 0);
    server.stdout.destroy();
    expect(isAlive(server.pid ?? 0)).toBe(true); // it has nothing to say yet
    run(3, { command: "true" });
    expect(await ended).toBe(0);
    expect(marked(mark)).toEqual([]);
    expect(listed(state)).toMatchObject([{ state: "closed" }]);
  });

  test("--resume latest begins a new transaction where none waits", async () => {
    const { call } = await connect("legacy", { words: ["--resume", "latest"] });
    expect(textOf(await call("run", { command: "echo on" }))).toBe("on\n");
  });

  test("a run that lasts gives signs of life, and its deadline ends it", async () => {
    const { call } = await connect("legacy");
    const mark = newMark();
    const result = await call("run", {
      command: "sleep 1000",
      timeoutMs: 200,
      env: { [kMarker]: mark },
    });
    expect(result.structuredContent).toMatchObject({ outcome: "timed-out", exitCode: 124 });
    expect(textOf(result)).toContain("timed out");
    expect(marked(mark)).toEqual([]);
  });
});
