/** The variables that select the demo's sandbox: what it says, and what its commands then run in. */

import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { describeSandboxed } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { kBwrap, runDemo, runOnce, type Turn } from "./support/run-demo.js";
import { makeProject } from "./support/tree.js";

const kRequired = { OPENAGENTIC_PROCESS_SANDBOX_REQUIRED: "1" };
const kMissing = { ...kBwrap, OPENAGENTIC_BWRAP_PATH: "no-such-bwrap" };

/** Where the command ran shows in the path: in Bubblewrap it is another than the project's. */
const kTurns: Turn[] = [{ calls: [{ script: "pwd" }] }, { text: "done" }];
const project = makeProject({ file: "" });

/** What the demo said before its first command, without where it works. */
const saidFirst = (err: string) => err.replace(/^demo-node: working on .*\n[\s\S]*/m, "");

describe("unset", () => {
  test("is said in one line, and commands run on the host", async () => {
    const { err, answers } = await runOnce({ project, turns: kTurns });
    expect(saidFirst(err)).toBe(
      "demo-node: commands run without a sandbox; OPENAGENTIC_PROCESS_SANDBOX=bwrap turns it on\n",
    );
    expect(answers[0]).toBe(`${project}\n[exit code 0]`);
  });
});

describeSandboxed("bwrap", () => {
  test("is said, and commands run in it", async () => {
    const { err, answers } = await runOnce({ project, turns: kTurns, env: kBwrap });
    expect(saidFirst(err)).toBe("demo-node: commands run in a sandbox (bubblewrap)\n");
    expect(answers[0]).toBe("/workspace\n[exit code 0]");
  });

  test.each([
    [{ OPENAGENTIC_SANDBOX_BACKEND: "auto" }],
    [{ OPENAGENTIC_RUNTIME_TYPE: "bubblewrap" }],
  ])("is selected by %j too, and may be required", async (env) => {
    const { answers } = await runOnce({ project, turns: kTurns, env: { ...env, ...kRequired } });
    expect(answers[0]).toBe("/workspace\n[exit code 0]");
  });
});

describe("what can't be had", () => {
  test.each([
    [kMissing, "demo-node: bwrap not found (no-such-bwrap); continuing without process sandbox"],
    [
      { OPENAGENTIC_PROCESS_SANDBOX: "docker" },
      "demo-node: ignoring unsupported OPENAGENTIC_PROCESS_SANDBOX=docker",
    ],
  ])("%j is a warning, and the demo goes on", async (env, warning) => {
    const { err, answers } = await runOnce({ project, turns: kTurns, env });
    expect(saidFirst(err)).toBe(`${warning}\n`);
    expect(answers[0]).toBe(`${project}\n[exit code 0]`);
  });

  const broken = join(tempDirectory("broken"), "bwrap");
  writeFileSync(broken, "#!/bin/sh\necho 'bwrap: no permission' >&2; exit 1\n");
  chmodSync(broken, 0o755);

  test.each([
    [kMissing, /^demo-node: bwrap not found in PATH \(no-such-bwrap\)$/m],
    [
      { OPENAGENTIC_PROCESS_SANDBOX: "docker" },
      /^demo-node: unsupported OPENAGENTIC_PROCESS_SANDBOX=docker$/m,
    ],
    [{ ...kBwrap, OPENAGENTIC_BWRAP_PATH: broken }, /^demo-node: bubblewrap does not work here/m],
    [
      { ...kBwrap, OPENAGENTIC_BWRAP_NETWORK: "maybe" },
      /^demo-node: .*OPENAGENTIC_BWRAP_NETWORK.*maybe/m,
    ],
    [{}, /^demo-node: a sandbox is required, but none is chosen/m],
  ])(
    "%j is an error when required: no request, no transaction, no command",
    async (env, expected) => {
      const args = ["--once", "x"];
      const run = await runDemo({ project, turns: kTurns, args, env: { ...env, ...kRequired } });
      expect(run).toMatchObject({ code: 1, out: "", left: [], requests: [] });
      expect(run.err).toMatch(expected);
      expect(run.err).not.toMatch(/^ {4}at /m);
    },
  );
});
