/** demo-node as an MCP server, with the official clients at its other end. */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { StdioClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { afterEach, expect, test } from "vitest";

import { eventually } from "../../support/waits.js";
import {
  callTool,
  type Generation,
  kGenerations,
  makeClient,
  type Person,
  textOf,
} from "../mcp/support/client.js";
import { command, kCli } from "../support/built-cli.js";
import { isAlive, kMarker, marked, newMark } from "../support/processes.js";
import { describeUnless, whyNoBubblewrap } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { demoEnvironment, kBwrap, kMain, runDemo, transactionsBelow } from "./support/run-demo.js";
import { makeProject, readTree } from "./support/tree.js";

const kBefore = { "src/sum.js": "export const sum = (a, b) => a - b;\n" };
const kFix = "sed -i 's/a - b/a + b/' src/sum.js && cat src/sum.js";
const kAfter = { "src/sum.js": "export const sum = (a, b) => a + b;\n" };

const open: { close(): Promise<void> }[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.close()));
});

/** Without a key of a model: none is asked. */
async function connect(generation: Generation, person?: Person, allowed: readonly string[] = []) {
  const project = makeProject(kBefore);
  const [state, config] = [tempDirectory("demo-state"), tempDirectory("demo-config")];
  mkdirSync(join(config, "demo-node"));
  writeFileSync(join(config, "demo-node/network.json"), JSON.stringify({ allow: allowed }));
  const own = { ...kBwrap, XDG_STATE_HOME: state, XDG_CONFIG_HOME: config };
  const parameters = {
    command: process.execPath,
    args: [kMain, "--project", project, "--mcp"],
    env: demoEnvironment(own) as Record<string, string>,
    stderr: "pipe" as const,
  };
  const transport =
    generation === "first" ? new FirstTransport(parameters) : new StdioClientTransport(parameters);
  let said = "";
  transport.stderr?.on("data", (chunk) => {
    said += String(chunk);
  });
  const client = makeClient(generation, { ...(person && { person }) });
  await client.connect(transport as never);
  open.push(client);
  const call = (name: string, input: Record<string, unknown> = {}) =>
    callTool(client, name, input, {});
  return { project, state, client, call, said: () => said, pid: transport.pid ?? 0 };
}

describeUnless(whyNoBubblewrap, "demo-node --mcp", () => {
  for (const generation of kGenerations) {
    test(`${generation}: a command works on the project, and a commit asks the client's person`, async () => {
      const asked: string[] = [];
      const person = (message: string) => {
        asked.push(message);
        return "yes" as const;
      };
      const { project, client, call, pid, said } = await connect(generation, person);
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(
        expect.arrayContaining(["run", "changes", "diff", "commit", "discard", "checkpoint"]),
      );
      expect(textOf(await call("run", { command: kFix }))).toBe(kAfter["src/sum.js"]);
      const install = "cd && ls -A && mkdir -p .local/bin && echo mine > .local/bin/tool";
      expect(textOf(await call("run", { command: install }))).not.toMatch(/tool|denied/i);
      const later = "cat ~/.local/bin/tool; node --version";
      expect(textOf(await call("run", { command: later }))).toBe(`mine\n${process.version}\n`);
      expect(readTree(project)).toEqual(kBefore);
      expect((await call("commit")).structuredContent).toMatchObject({ total: 1, left: 0 });
      expect(asked).toEqual([expect.stringContaining("src/sum.js")]);
      expect(readTree(project)).toEqual(kAfter);
      await client.close();
      await eventually("the server is gone", () => !isAlive(pid));
      expect(said()).not.toContain(" at ");
    });
  }

  test("without a person there is no commit, and what was changed waits for one", async () => {
    const { project, state, client, call, pid, said } = await connect("modern");
    const mark = newMark();
    await call("run", { command: kFix });
    await call("start", { command: "exec sleep 1000", env: { [kMarker]: mark } });
    const refused = await call("commit");
    expect(refused.isError).toBe(true);
    expect(textOf(refused)).toContain("can't ask a person");
    await eventually("a command goes on", () => marked(mark).length > 0);
    await client.close();
    await eventually("the server is gone", () => !isAlive(pid));
    expect(marked(mark)).toEqual([]);
    expect(readTree(project)).toEqual(kBefore);
    await eventually("it has said where", () => /in transaction \w+:/.test(said()));
    const [, id = ""] = /in transaction (\w+):/.exec(said()) ?? [];
    const where = ["--state-directory", transactionsBelow(state)];
    expect(command([...kCli, "tx", "commit", id, ...where])).toMatchObject({ status: 0 });
    expect(readTree(project)).toEqual(kAfter);
  });

  test("SIGTERM ends it with all that runs, and what was changed waits", async () => {
    const { project, call, pid, said } = await connect("legacy");
    const mark = newMark();
    await call("run", { command: kFix });
    await call("start", { command: "exec sleep 1000", env: { [kMarker]: mark } });
    await eventually("a command goes on", () => marked(mark).length > 0);
    process.kill(pid, "SIGTERM");
    await eventually("the server is gone", () => !isAlive(pid));
    expect(marked(mark)).toEqual([]);
    expect(readTree(project)).toEqual(kBefore);
    await eventually("it has said where", () => /in transaction \w+:/.test(said()));
  });

  test("commands reach what was allowed for good, and nothing else", async () => {
    const { call } = await connect("legacy", () => "yes", ["a.invalid:443"]);
    const deniedAt = async (host: string) => {
      const reach = `timeout 3 bash -c 'exec 3<>/dev/tcp/${host}/443; cat <&3'`;
      const { structuredContent } = await call("run", { command: reach });
      const { denials } = structuredContent as { denials: { what: string }[] };
      return denials.filter(({ what }) => what.includes(host)).length;
    };
    expect(await deniedAt("a.invalid")).toBe(0);
    expect(await deniedAt("b.invalid")).toBe(1);
  });

  test("what the sandbox refuses nobody is asked to grant: the policy is the operator's", async () => {
    const outside = join(tempDirectory("outside", "/var/tmp"), "file");
    writeFileSync(outside, "contents\n");
    const asked: string[] = [];
    const { call } = await connect("legacy", (message) => {
      asked.push(message);
      return "yes";
    });
    const denied = await call("run", { argv: ["cat", outside] });
    const { denials } = denied.structuredContent as { denials: Record<string, unknown>[] };
    expect(denials).toMatchObject([{ kind: "read", what: `read ${outside}` }]);
    expect(denials[0]).not.toHaveProperty("grant");
    expect(textOf(denied)).toContain("nothing can be granted here");
    const granted = await call("run", { argv: ["cat", outside], grants: ["g1"] });
    expect(granted.isError).toBe(true);
    expect(textOf(granted)).toContain("no grants can be given here");
    expect(asked).toEqual([]);
    expect(readFileSync(outside, "utf8")).toBe("contents\n"); // which is there to be read
  });
});

test.each([
  ["no sandbox", [], {}, 1, "OPENAGENTIC_PROCESS_SANDBOX=bwrap"],
  ["a request", ["--once", "do it"], kBwrap, 2, "--mcp and --once"],
])("demo-node --mcp refuses %s", async (_, args, env, code, why) => {
  const project = makeProject(kBefore);
  const run = await runDemo({ project, turns: [], args: ["--mcp", ...args], env });
  expect({ code: run.code, out: run.out }).toEqual({ code, out: "" });
  expect(run.err).toContain(why);
  expect(existsSync(join(project, "src/sum.js"))).toBe(true);
});
