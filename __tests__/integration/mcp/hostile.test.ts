/** Inputs that a model, or a client, should not send, and what commands may do to the protocol. */

import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { whyNoCli } from "../support/command.js";
import { describeUnless, whyNoBubblewrap } from "../support/gate.js";
import { tempDirectory } from "../support/temp.js";
import { connect, serverWords, textOf } from "./support/client.js";

const kInputs = JSON.parse(
  readFileSync(new URL("hostile-inputs.json", import.meta.url), "utf8"),
) as [name: string, input: Record<string, unknown>][];

describeUnless(whyNoBubblewrap ?? whyNoCli, "native-runner mcp refuses", () => {
  for (const generation of ["legacy", "modern"] as const) {
    test(`${generation}: ${kInputs.length} inputs that are wrong, each with a reason, and goes on`, async () => {
      const { call, said } = await connect(generation, { person: () => "yes" });
      await call("run", { command: "echo kept > file" });
      for (const [name, input] of kInputs) {
        const result = await call(name, input);
        expect(result.isError, `${name} ${JSON.stringify(input)}: ${textOf(result)}`).toBe(true);
        expect(textOf(result)).toMatch(/\w{3}/);
        expect(textOf(result)).not.toMatch(/ at .*\.js:\d+/); // no stack
      }
      expect((await call("changes")).structuredContent).toMatchObject({ total: 1 });
      expect(said()).not.toMatch(/ at .*\.js:\d+/);
    });
  }

  test("a tool that there is not, and calls go on", async () => {
    const { call } = await connect("legacy");
    await expect(call("exec", { command: "true" })).rejects.toThrow(/exec/);
    expect(textOf(await call("run", { command: "echo on" }))).toBe("on\n");
  });

  test("what is no message: standard output stays the protocol's", async () => {
    const [command = "", ...args] = serverWords(tempDirectory(), tempDirectory("state"));
    const server = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"] });
    let out = "";
    server.stdout.on("data", (chunk) => {
      out += String(chunk);
    });
    const send = (value: unknown) => server.stdin.write(`${JSON.stringify(value)}\n`);
    server.stdin.write("nonsense\n{}\n[]\n\n");
    send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "run", arguments: {} } });
    send({
      ...{ jsonrpc: "2.0", id: 2, method: "initialize" },
      params: {
        protocolVersion: "2025-06-18",
        capabilities: {},
        clientInfo: { name: "raw", version: "1" },
      },
    });
    send({ jsonrpc: "2.0", method: "notifications/initialized" });
    const script =
      'echo \'{"jsonrpc":"2.0","id":9,"result":{}}\'; echo x >&2; echo y > /proc/self/fd/1';
    send({
      ...{ jsonrpc: "2.0", id: 3, method: "tools/call" },
      params: { name: "run", arguments: { command: script } },
    });
    const ended = new Promise((resolve) => server.once("close", resolve));
    while (!out.includes('"id":3'))
      await new Promise((resolve) => server.stdout.once("data", resolve));
    server.stdin.end();
    await ended;
    const messages = out
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as { jsonrpc: string; id?: number | string });
    expect(messages.every(({ jsonrpc }) => jsonrpc === "2.0")).toBe(true);
    expect(messages.some(({ id }) => id === 9)).toBe(false);
    expect(messages.some(({ id }) => id === 3)).toBe(true);
  });

  test("a commit of what the person has not seen", async () => {
    const workspace = tempDirectory();
    let meanwhile = async () => {};
    const { call } = await connect("modern", {
      workspace,
      person: async () => {
        await meanwhile();
        return "yes" as const;
      },
    });
    await call("run", { command: "echo shown > file" });
    meanwhile = async () => {
      await call("run", { command: "echo sneaked > file" });
    };
    const refused = await call("commit");
    expect(refused.isError).toBe(true);
    expect(textOf(refused)).toContain("commands ran while the person was asked");
    meanwhile = async () => {};
    await call("start", { command: "sleep 1000" });
    expect(textOf(await call("commit"))).toContain("commands run that may change more");
    await call("stop", { process: "p1" });
    expect((await call("commit")).structuredContent).toMatchObject({ total: 1 });
    expect(readFileSync(join(workspace, "file"), "utf8")).toBe("sneaked\n");
  });

  test("a commit of what the host runs by itself, but for what the operator allows", async () => {
    const workspace = tempDirectory();
    mkdirSync(join(workspace, ".git"));
    writeFileSync(join(workspace, ".git", "config"), "");
    const options = { workspace, person: () => "yes" as const };
    const first = await connect("legacy", options);
    await first.call("run", { command: "echo '[core]' > .git/config" });
    const refused = await first.call("commit");
    expect(textOf(refused)).toMatch(/nothing was committed: .*\.git\/config/);
    const second = await connect("legacy", {
      ...options,
      words: ["--allow-protected", ".git/config"],
    });
    await second.call("run", { command: "echo '[core]' > .git/config" });
    expect((await second.call("commit")).structuredContent).toMatchObject({ total: 1 });
  });

  test("a commit that is in conflict with the host", async () => {
    const workspace = tempDirectory();
    writeFileSync(join(workspace, "file"), "one\n");
    const { call } = await connect("legacy", { workspace, person: () => "yes" });
    await call("run", { command: "echo two > file; echo other > other" });
    writeFileSync(join(workspace, "file"), "host's\n");
    const refused = await call("commit");
    expect(textOf(refused)).toContain("file was changed outside of the sandbox, too");
    expect((await call("commit", { paths: ["other"] })).structuredContent).toMatchObject({
      total: 1,
    });
  });

  test("to put control characters of names and commands before the person", async () => {
    const asked: string[] = [];
    const { call } = await connect("legacy", {
      person: (message) => {
        asked.push(message);
        return "no";
      },
    });
    const name = "a\u001b[31m\u202eb\nM harmless";
    await call("run", { argv: ["touch", name] });
    const refused = await call("commit");
    expect(asked, textOf(refused)).toHaveLength(1);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    expect(asked[0]).not.toMatch(/[\u001b\u202e]/);
    expect(asked[0]?.split("\n").filter((line) => line.startsWith("  "))).toHaveLength(1);
  });

  test("to put control characters of a grant's path before the person", async () => {
    const outside = tempDirectory("outside", "/var/tmp");
    const name = join(outside, "a\u001b[31m\u202eb");
    writeFileSync(name, "contents\n");
    const asked: string[] = [];
    const { call } = await connect("legacy", {
      person: (message) => {
        asked.push(message);
        return "yes";
      },
    });
    const denied = await call("run", { argv: ["cat", name] });
    expect(denied.structuredContent).toMatchObject({ denials: [{ grant: "g1" }] });
    const granted = await call("run", { argv: ["cat", name], grants: ["g1"] });
    expect(granted.structuredContent).toMatchObject({ stdout: "contents\n" });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    expect(asked).toEqual([expect.not.stringMatching(/[\u001b\u202e]/)]);
  });

  test("more than the operator's limits", async () => {
    const { call } = await connect("legacy", {
      words: ["--timeout", "300ms", "--max-output", "10", "--max-file", "1K"],
    });
    const slow = await call("run", { command: "sleep 1000", timeoutMs: 100_000 });
    expect(slow.structuredContent).toMatchObject({ outcome: "timed-out" });
    const long = await call("run", { command: "seq 1 100", maxOutputBytes: 1000 });
    expect(long.structuredContent).toMatchObject({ truncated: true, stdoutBytes: 292 });
    const large = await call("run", { command: "head -c 4096 /dev/zero > file" });
    expect(large.structuredContent).not.toMatchObject({ exitCode: 0 });
  });
});
