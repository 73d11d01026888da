// As root too: limits, ids and set-up differ for root.
/** Sandboxes that can't be had: not at all (rejects, with what to do), or not for this run (125). */

import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { kEngine } from "../other-hosts/this-engine.js";
import { bindsWith } from "../promises/probed-host.js";
import { BubblewrapNativeRunner, SandboxError } from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";

let tools = "";
beforeAll(() => {
  tools = tempDirectory("tools");
});

function stub(name: string, script: string, mode = 0o755): string {
  const path = join(tools, name);
  writeFileSync(path, script);
  chmodSync(path, mode);
  return path;
}

const help = (path: string) => `case "$1" in --help) exec ${path} --help ;; esac\n`;
const kBwrap =
  ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"].find((path) => existsSync(path)) ??
  "bwrap";

async function rejection(bwrapPath: string): Promise<SandboxError> {
  const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), bwrapPath });
  const error = await runner.exec({ argv: ["true"] }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(SandboxError);
  return error as SandboxError;
}

describeSandboxed("a bwrap that can't be had rejects, and says what to do", () => {
  test.each([
    ["no program of that name", () => "native-runner-no-such-bwrap"],
    ["no file", () => "/no/such/bwrap"],
    ["a directory", () => tools],
    ["a file that is not executable", () => stub("plain", "#!/bin/sh\n", 0o644)],
    ["one that fails", () => stub("fails", "#!/bin/sh\nexit 1\n")],
    ["one that is killed", () => stub("killed", "#!/bin/sh\nkill -9 $$\n")],
    ["one that is no program", () => stub("text", "just text\n")],
    ["one without an interpreter", () => stub("orphan", "#!/no/such/interpreter\n")],
    ["one that is too old", () => stub("old", "#!/bin/sh\necho 'usage: bwrap [OPTIONS...]'\n")],
  ])("%s", async (_, path) => {
    const bwrapPath = path();
    const error = await rejection(bwrapPath);
    expect(error).toMatchObject({ name: "SandboxError", code: "ERR_SANDBOX_UNAVAILABLE" });
    expect(error.message).toContain(bwrapPath);
    expect(error.fix).toMatch(/install|bwrapPath/i);
    // JavaScriptCore's stacks end at the first await.
    if (kEngine !== "Bun") expect(error.stack).toContain("set-up-failures.test.ts");
  });

  test("and the same runner works once it is there", async () => {
    const bwrapPath = join(tools, "later");
    await rejection(bwrapPath);
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), bwrapPath });
    await expect(runner.exec({ argv: ["true"] })).rejects.toThrow(SandboxError);
    stub("later", `#!/bin/sh\nexec ${kBwrap} "$@"\n`);
    expect(await run(runner, ["echo", "works"])).toMatchObject({ out: "works", exitCode: 0 });
  });

  test("many calls at once all reject", async () => {
    const bwrapPath = stub("fails-too", "#!/bin/sh\nexit 1\n");
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), bwrapPath });
    const calls = Array.from({ length: 20 }, () => runner.exec({ argv: ["true"] }));
    for (const call of await Promise.allSettled(calls)) expect(call.status).toBe("rejected");
  });
});

describeSandboxed("a bwrap that fails for one run is a set-up failure", () => {
  const failing: [string, string, string][] = [
    ["with a message", "echo 'bwrap: no can do' >&2; exit 1", "bwrap: no can do"],
    ["without a word", "exit 3", "status 3"],
    ["with status 0", "exit 0", "status 0"],
    ["by a signal", "kill -9 $$", "SIGKILL"],
  ];
  test.each(failing)("%s", async (name, script, reason) => {
    const bwrapPath = stub(name.replaceAll(" ", "-"), `#!/bin/sh\n${help(kBwrap)}${script}\n`);
    const workspace = tempDirectory();
    const runner = new BubblewrapNativeRunner({ shadowDir: workspace, bwrapPath });
    const seen = await run(runner, "echo ran > ran");
    expect(seen).toMatchObject({ exitCode: 125, kind: "setup-failed", out: "" });
    expect(seen.err).toContain(reason);
    expect(seen.result.outcome).toMatchObject({ reason: expect.stringContaining(reason) });
    expect(existsSync(join(workspace, "ran"))).toBe(false);
    const [audit] = seen.result.audits;
    expect(audit).toMatchObject({ outcome: "setup-failed", runtime: "bubblewrap", cmd: bwrapPath });
    expect(audit?.argv.slice(-3)).toEqual(["sh", "-c", "echo ran > ran"]);
  });

  test("its reason is told with a limit of 0 as well", async () => {
    const bwrapPath = stub("silent", `#!/bin/sh\n${help(kBwrap)}echo 'bwrap: why' >&2; exit 1\n`);
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), bwrapPath });
    const seen = await run(runner, ["true"], { limits: { maxStderrBytes: 0 } });
    expect(seen.result.outcome).toEqual({ kind: "setup-failed", reason: "bwrap: why" });
    expect(seen.result.stderr.length).toBe(0);
  });

  test("one that does not come to an end is ended at the deadline", async () => {
    const bwrapPath = stub("hangs", `#!/bin/sh\n${help(kBwrap)}sleep 1000\n`);
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), bwrapPath });
    const seen = await run(runner, ["true"], { limits: { timeoutMs: 500 } });
    expect(seen).toMatchObject({ exitCode: 124, kind: "timed-out" });
  });

  test("a wrapper that hands on to bwrap works", async () => {
    const bwrapPath = stub("wrapper", `#!/bin/sh\nexec ${kBwrap} "$@"\n`);
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), bwrapPath });
    expect(await run(runner, ["echo", "works"])).toMatchObject({ out: "works", exitCode: 0 });
  });
});

describeSandboxed("mounts", () => {
  test("a named roBind that the host lacks is a set-up failure that names it", async () => {
    const roBinds = bindsWith("/no/such/directory");
    const seen = await run(new BubblewrapNativeRunner({ shadowDir: tempDirectory(), roBinds }), [
      "true",
    ]);
    expect(seen).toMatchObject({ exitCode: 125, kind: "setup-failed", out: "" });
    expect(seen.err).toContain("/no/such/directory");
    expect(seen.result.audits[0]).toMatchObject({ runtime: "bubblewrap", cmd: "bwrap" });
  });

  test("an absolute bwrapPath is as good as a name", async () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), bwrapPath: kBwrap });
    const seen = await run(runner, ["echo", "works"]);
    expect(seen.out).toBe("works");
    expect(seen.result.audits[0]?.cmd).toBe(kBwrap);
  });

  test("roBinds of one's own replace the default", async () => {
    const given = tempDirectory();
    writeFileSync(join(given, "file"), "shared");
    mkdirSync(join(given, "sub"));
    const roBinds = ["/usr", "/bin", "/lib", "/lib64", given].filter((path) => existsSync(path));
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), roBinds });
    const seen = await run(runner, `cat ${given}/file; ls ${given}; ls -d /etc`);
    expect(seen.out).toBe("sharedfile\nsub");
    expect(seen.exitCode).toBe(2);
  });

  test("none at all leaves nothing to run", async () => {
    const runner = new BubblewrapNativeRunner({ shadowDir: tempDirectory(), roBinds: [] });
    expect(await run(runner, ["ls"])).toMatchObject({
      exitCode: 127,
      err: "ls: command not found",
    });
  });
});
