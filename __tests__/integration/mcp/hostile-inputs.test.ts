/** Inputs that a model, or a client, should not send, and what commands may do to the protocol. */

import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { whyNoCli } from "../support/built-cli.js";
import { isAlive } from "../support/processes.js";
import { describeUnless, whyNoBubblewrap } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { connect, serverWords, textOf } from "./support/client.js";

type Call = [name: string, input: Record<string, unknown>];

/**
 * By family, calls that are refused and some beside them that are not. A member of the name `__proto__`
 * never reaches a tool, since the SDK leaves it out: it is no reason for anything.
 */
const kFamilies = Object.entries(
  JSON.parse(readFileSync(new URL("hostile-inputs.json", import.meta.url), "utf8")) as Record<
    string,
    { refused: Call[]; accepted: Call[] }
  >,
);

/** Ids that a server has given, which works on another transaction of the same state directory. */
async function idsOfAnother(state: string): Promise<Map<string, string>> {
  const file = join(tempDirectory("outside", "/var/tmp"), "file");
  writeFileSync(file, "");
  const { call } = await connect("legacy", { state, person: () => "yes" });
  await call("start", { command: "sleep 1000" });
  await call("stop", { process: "p1" });
  const made = await call("checkpoint");
  const denied = await call("run", { argv: ["cat", file] });
  const { id } = made.structuredContent as { id: string };
  expect((await call("rollback", { id })).isError).toBeFalsy(); // there it is one
  const { denials } = denied.structuredContent as { denials: { grant: string }[] };
  expect(denials).toMatchObject([{ grant: "g1" }]);
  const [transaction = ""] = readdirSync(state);
  return new Map([
    ["$checkpoint", id],
    ["$grant", "g1"],
    ["$transaction", transaction],
  ]);
}

const nested = (depth: number) => {
  let value: unknown = [];
  for (let at = 0; at < depth; at += 1) value = [value];
  return value;
};

/** What the file has in short: long texts, long lists, deep ones, and ids of another server's. */
function expanded(value: unknown, ids: ReadonlyMap<string, string>): unknown {
  if (typeof value === "string") return ids.get(value) ?? value;
  if (Array.isArray(value)) return value.map((each) => expanded(each, ids));
  if (typeof value !== "object" || value === null) return value;
  const [[kind, of] = ["", undefined]] = Object.entries(value);
  if (kind === "$times") return String((of as [string])[0]).repeat((of as [string, number])[1]);
  if (kind === "$list") return Array((of as [string, number])[1]).fill((of as [string])[0]);
  if (kind === "$nested") return nested(of as number);
  // As own properties, whatever their names.
  return Object.fromEntries(Object.entries(value).map(([key, own]) => [key, expanded(own, ids)]));
}

const shown = (name: string, input: unknown) => `${name} ${JSON.stringify(input).slice(0, 200)}`;

describeUnless(whyNoBubblewrap ?? whyNoCli, "native-runner mcp refuses", () => {
  for (const generation of ["legacy", "modern"] as const) {
    test.each(kFamilies)(`${generation}: %s`, async (family, { refused, accepted }) => {
      const state = tempDirectory("state");
      const isOfIds = family === "ids of others";
      const ids = isOfIds ? await idsOfAnother(state) : new Map<string, string>();
      let asked = 0;
      const { call, said, pid } = await connect(generation, {
        state,
        person: () => {
          asked += 1;
          return "yes";
        },
      });
      await call("run", { command: "echo kept > file" });
      const send = ([name, input]: Call) =>
        call(name, expanded(input, ids) as Record<string, unknown>).catch((error: Error) => ({
          ...{ isError: true, content: [{ type: "text" as const, text: error.message }] },
        }));
      for (const each of refused) {
        const result = await send(each);
        const text = textOf(result);
        expect(result.isError, `${shown(...each)}: ${text.slice(0, 500)}`).toBe(true);
        expect(text).toMatch(/\w{3}/);
        expect(text).not.toMatch(/ at .*\.js:\d+/); // no stack
        expect(text.length, shown(...each)).toBeLessThan(2000); // nor the input
      }
      expect(asked).toBe(0);
      for (const each of accepted) {
        const result = await send(each);
        expect(result.isError, `${shown(...each)}: ${textOf(result)}`).toBeFalsy();
        if (each[0] === "run") expect(result).toMatchObject({ structuredContent: { exitCode: 0 } });
      }
      expect((await call("changes")).structuredContent).toMatchObject({ total: 1 });
      expect(said()).not.toMatch(/ at .*\.js:\d+/);
      expect(isAlive(pid)).toBe(true);
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
